import { describe, expect, it } from 'vitest';
import type { Account } from '../../../../src/tools/simulator/accounts.ts';
import { answer } from '../../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import { pastAnswers } from '../../../../src/tools/simulator/past-answers.ts';
import { SimulatorQuestion } from '../../../../src/tools/simulator/question.ts';
import { SeededRandom } from '../../../../src/tools/simulator/seeded-random.ts';

const START = Date.UTC(2026, 0, 1);
const BLOCK_MS = 400;
const FIRST = 62_000_000;
const BLOCKS = 160;
const UNNAMED = 'x_no_address_book=true&x_no_metadata=true';
const OTHERS = [0, 5, 120];

/** Random traffic. Some blocks are committed after later ones, and some eight at once. */
function chainOf(seed: number): Chain {
  const jettons = { owners: 12, everyMs: 15 * BLOCK_MS, others: OTHERS };
  const chain = new Chain({
    startAt: START,
    seed,
    blockMs: BLOCK_MS,
    messagesPerBlock: 1,
    historyBlocks: 500,
    jettons,
  });
  const random = new SeededRandom('commits', seed);
  for (let n = 30; n < BLOCKS; n++) {
    if (n % 40 < 8) chain.delay(FIRST + n, (7 - (n % 40)) * BLOCK_MS);
    else if (random.chance(0.2)) chain.delay(FIRST + n, random.int(1, 5) * BLOCK_MS);
  }
  chain.advanceTo(START + BLOCKS * BLOCK_MS);
  return chain;
}

interface Row {
  readonly account: string;
  readonly hash: string;
  readonly description: { readonly aborted: boolean };
  readonly in_msg: { readonly opcode: string } | null;
}

interface Wallet {
  readonly address: string;
  readonly owner: string;
  readonly last_transaction_lt: string;
}

const CASES = [
  { seed: 1, dialect: '1.2' },
  { seed: 2, dialect: '1.3' },
] as const;
const INSTANTS = Array.from({ length: BLOCKS }, (_, n) => START + n * BLOCK_MS);

describe.each(CASES)('the jettons of chain $seed, as $dialect answers', ({ seed, dialect }) => {
  const chain = chainOf(seed);
  const textAt = (path: string, instant: number) => {
    const asked = { method: 'GET', target: `/api/v3/${path}`, headers: {} };
    return String(answer(new SimulatorQuestion(asked, { chain, dialect, instant })).body);
  };
  const walletsAt = (query: string, instant: number): readonly Wallet[] =>
    JSON.parse(textAt(`jetton/wallets?limit=1000&${UNNAMED}&${query}`, instant)).jetton_wallets;
  const committedAt = (instant: number) =>
    Array.from({ length: BLOCKS + 1 }, (_, n) => chain.block(FIRST + n, instant)?.transactions ?? []);
  const pageOf = (seqno: number) =>
    JSON.parse(textAt(`transactionsByMasterchainBlock?limit=1000&seqno=${seqno}&sort=asc`, chain.now)).transactions ??
    [];
  const { owners, busyOwners, tables, masters } = chain.jettons;
  const [owner, busy] = [owners[0]?.address ?? '', busyOwners[0]?.address ?? ''];
  const wallet = tables.walletsOf(owner)[0]?.address ?? '';

  it.each([
    `jetton/wallets?owner_address=${owner}`,
    `jetton/wallets?owner_address=${busy}&exclude_zero_balance=true&limit=2`,
    `jetton/wallets?address=${wallet}&address=${tables.wallets.at(-1)?.address}`,
    `jetton/wallets?jetton_address=${masters[0]?.address}&sort=desc`,
    `jetton/transfers?owner_address=${owner}`,
    `jetton/transfers?owner_address=${busy}&direction=in&limit=5`,
    `jetton/transfers?owner_address=${owner}&direction=out&start_utime=${START / 1000 + 20}`,
    `jetton/transfers?jetton_wallet=${wallet}&sort=asc`,
    `jetton/masters?address=${masters[0]?.address}`,
    `accountStates?address=${wallet}&address=${tables.wallets[3]?.address}`,
    `walletStates?address=${chain.accounts.wallets[0]?.address}&include_boc=false`,
  ])('change only at the known instants: %s', (path) => {
    const states = pastAnswers({ method: 'GET', target: `/api/v3/${path}`, headers: {} }, chain, dialect);
    for (const instant of INSTANTS) {
      const state = states.find(({ fromAt, untilAt }) => fromAt <= instant && instant < untilAt);
      expect(state?.said().text).toBe(textAt(path, instant));
    }
    expect(states.length).toBeGreaterThan(1);
  });

  it('are listed under exactly one owner each', () => {
    for (const instant of INSTANTS.filter((_, n) => n % 20 === 19)) {
      const all = walletsAt('', instant);
      const everybody = [...new Set(all.map((row) => row.owner))];
      expect(everybody.flatMap((each) => walletsAt(`owner_address=${each}`, instant)).toSorted(byAddress)).toEqual(
        all.toSorted(byAddress),
      );
      expect(walletsAt(all.map(({ address }) => `address=${address}`).join('&'), instant)).toEqual(
        all.toSorted(byAddress),
      );
    }
  });

  it('are never older than a block that is committed, and never newer than all of them', () => {
    for (const instant of INSTANTS.filter((_, n) => n % 10 === 9)) {
      const shown = new Map(walletsAt('', instant).map((row) => [row.address, Number(row.last_transaction_lt)]));
      const written = new Map<string, number>();
      for (const { account, effect, lt } of committedAt(instant).flat()) {
        if (effect?.row === undefined || (effect.row === null && dialect === '1.2')) continue;
        written.set(account.address, Math.max(lt, written.get(account.address) ?? 0));
      }
      for (const [account, lt] of shown) expect(written.get(account)).toBeGreaterThanOrEqual(lt);
      for (const [account, lt] of written) {
        if (shown.has(account)) continue;
        // Only a deleted wallet is not shown.
        expect(tables.commitsOf(account).some((one) => one.effect?.row === null)).toBe(true);
        expect(dialect).toBe('1.3');
        expect(lt).toBeGreaterThan(0);
      }
    }
  });

  it('have the transfers that the pages of the committed blocks show', () => {
    const instant = chain.now;
    const rows: readonly Row[] = committedAt(instant).flatMap((_, n) => pageOf(FIRST + n));
    const known = new Set(tables.wallets.map(({ address }) => address));
    const isTransfer = ({ account, description, in_msg: message }: Row) =>
      message?.opcode === '0x0f8a7ea5' && !description.aborted && known.has(account);
    const listed = JSON.parse(textAt('jetton/transfers?limit=1000&sort=asc', instant)).jetton_transfers;
    const hashes: readonly string[] = listed.map((row: { transaction_hash: string }) => row.transaction_hash);
    expect(hashes).toEqual(rows.filter(isTransfer).map(({ hash }) => hash));
    expect(hashes.length).toBeGreaterThan(50);
  });

  it('include rounds without any wallet, and rounds with 0, 5 and 120 other accounts', () => {
    const rounds = committedAt(chain.now);
    const { elector, wallets, contracts, masterchain, jettonMasters } = chain.accounts;
    const ofTraces = new Set([elector, ...wallets, ...contracts, ...masterchain, ...jettonMasters]);
    const isWallet = (account: Account) => tables.walletsOf(account.address).includes(account);
    expect(rounds.some((rows) => !rows.some(({ account }) => isWallet(account)))).toBe(true);
    const strangers = rounds.map((rows) => rows.filter(({ account }) => !ofTraces.has(account) && !isWallet(account)));
    expect(strangers.map(({ length }) => length)).toEqual(expect.arrayContaining(OTHERS));
  });
});

function byAddress(a: Wallet, b: Wallet): number {
  return a.address < b.address ? -1 : 1;
}
