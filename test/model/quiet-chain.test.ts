import { expect, test } from 'vitest';
import { OwnerLookUps } from '../../src/proof/owner-look-ups.ts';
import { SettledWallets } from '../../src/proof/settled-wallets.ts';
import { Touches } from '../../src/proof/touches.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

const [BLOCK_MS, HEAD_EVERY_MS, ROUND_TRIP_MS, STEP_MS] = [400, 450, 60, 10];
const [FROM_MS, UNTIL_MS] = [60_000, 600_000];

/** The shares of the blocks in which a jetton wallet, and another contract than those of the masterchain, runs. */
interface Shares {
  readonly wallets: number;
  readonly others: number;
}

/** The part of ten minutes in which answers about owners can be proven, with the look-ups themselves. */
async function aliveOn({ wallets: walletShare, others }: Shares): Promise<number> {
  const random = new SeededRandom('quiet chain', walletShare, others);
  const newest = new Map<string, bigint>();
  const wallets = new Set<string>();
  const rowsFor = (accounts: readonly string[]) =>
    accounts.flatMap((address) =>
      wallets.has(address)
        ? [{ address, owner: 'owner', jetton: 'jetton', lt: newest.get(address) ?? 0n, isZero: false }]
        : [],
    );
  let now = 0;
  const clock = () => now;
  const touches = new Touches({ now: clock, keptMs: 362_000, maxBytes: 2 ** 26 });
  const settled = new SettledWallets({ touches, now: clock });
  const blocks = { mark: Number.NEGATIVE_INFINITY };
  const lookUps = new OwnerLookUps({
    source: {
      wallets: async (accounts) => {
        const rows = rowsFor(accounts);
        return { rows, lts: new Map(rows.map(({ address, lt }) => [address, lt])), indexer: '' };
      },
      states: async (accounts) => {
        const rows = rowsFor(accounts).map((row) => ({ ...row, isByState: true as const }));
        return { rows, lts: new Map(accounts.map((account) => [account, newest.get(account) ?? 0n])), indexer: '' };
      },
    },
    settled,
    blocks,
    now: clock,
    onBug: (error) => {
      throw error;
    },
  });
  lookUps.switched(true);

  const chain: BlockRow[][] = [];
  const commit = () => {
    const seqno = chain.length;
    const hasOther = random.chance(others);
    const hasWallet = random.chance(walletShare);
    const accounts = ['elector', 'config', ...(hasOther ? [`c${seqno}`] : []), ...(hasWallet ? [`w${seqno}`] : [])];
    if (hasWallet) wallets.add(`w${seqno}`);
    chain.push(
      accounts.map((account, n) => ({ account, lt: BigInt(seqno * 1000 + n), hash: '', now: 0, seqno, codeHash: 'x' })),
    );
    for (const { account, lt } of chain[seqno] ?? []) newest.set(account, lt);
  };
  let [polledAt, read, alive, counted] = [-1, 0, 0, 0];
  const answers: { readonly at: number; readonly head: number; readonly askedAt: number; readonly before: number }[] =
    [];
  for (; now < UNTIL_MS; now += STEP_MS) {
    if (now % BLOCK_MS === 0) commit();
    if (now % HEAD_EVERY_MS === 0) {
      const head = chain.length - 1;
      lookUps.headIs(head, now, '');
      answers.push({ at: now + ROUND_TRIP_MS, head, askedAt: now, before: polledAt });
      polledAt = now;
    }
    while (answers[0] !== undefined && answers[0].at <= now) {
      const { head, askedAt, before } = answers.shift() as (typeof answers)[number];
      for (; read <= head; read++) lookUps.read({ seqno: read, rows: chain[read] ?? [], mark: before, indexer: '' });
      blocks.mark = askedAt;
    }
    if (now % 50 === 0) {
      lookUps.tick();
      for (let turn = 0; turn < 4; turn++) await Promise.resolve();
    }
    if (now <= FROM_MS || now % 100 !== 0) continue;
    counted++;
    if (lookUps.isAlive) alive++;
  }
  return (100 * alive) / counted;
}

test.each([1, 0.98, 0.9, 0.8, 0.5, 0.2, 0.02])(
  'answers about owners can be proven with a wallet in %f of the blocks, and another contract in each',
  async (wallets) => {
    expect(await aliveOn({ wallets, others: 1 })).toBeGreaterThan(99.5);
  },
);

/** The table of docs/background/proof.md. */
test.each([
  [0.98, 99],
  [0.9, 91],
  [0.8, 89],
  [0.5, 63],
  [0.2, 27],
])(
  'with a wallet in %f of the blocks, and another contract in a few, for %f percent of the time',
  async (wallets, percent) => {
    expect(Math.round(await aliveOn({ wallets, others: 0.3 }))).toBe(percent);
  },
);
