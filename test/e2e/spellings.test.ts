import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressSpellings, hashSpellings } from '../../src/tools/simulator/spellings.ts';
import { settledParent, someHash, targetOf } from './questions.ts';
import { WORLDS, World } from './world.ts';

// test/unit/ton/cache-key.test.ts has the property that all spellings of a call have one key.

let world: World;

afterEach(() => world[Symbol.asyncDispose]());

/** All clients' spellings of a value: percent-encoded, or raw base64. */
function writings(spellings: object): string[] {
  const plain: string[] = Object.values(spellings);
  // A form encoder on the way has turned a raw plus into a space.
  const spaced = plain.map((spelling) => encodeURIComponent(spelling.replaceAll('+', ' ')));
  return [...new Set([...plain, ...plain.map(encodeURIComponent), ...spaced])];
}

/** A hash whose base64 has a plus and a slash. */
function awkwardHash(): string {
  for (;;) {
    const hash = someHash();
    if (hash.includes('+') && hash.includes('/')) return hash;
  }
}

async function allAnswerAlike(targets: readonly string[]): Promise<string> {
  const before = world.forwarded.length;
  const [first, ...others] = await Promise.all(targets.map((target) => world.ask(target)));
  for (const { status, digest } of others) expect([status, digest]).toEqual([first?.status, first?.digest]);
  for (const target of targets) expect([target, (await world.ask(target)).cache['hit']]).toEqual([target, true]);
  expect(world.forwarded).toHaveLength(before + 1);
  return world.forwarded.at(-1)?.target ?? '';
}

describe.each(WORLDS)('spellings in front of indexer $dialect, $tiers', (kind) => {
  beforeEach(async () => {
    world = await World.start(kind);
  });

  it('of one account are one request, in the canonical form', async () => {
    const { accounts } = world.indexer.chain;
    for (const account of [accounts.wallets[0], accounts.elector]) {
      if (account === undefined) throw new Error('no account');
      const values = writings(addressSpellings(account));
      // Next to an account an empty hash names nothing.
      const queries = [...values, `${values[0]}&ext_msg_hash=`].map((value) => `account=${value}`);
      const asked = await allAnswerAlike(queries.map((query) => `/api/v3/pendingTraces?${query}`));
      expect(asked).toBe(`/api/v3/pendingTraces?account=${encodeURIComponent(account.address)}`);
    }
  });

  it('of one hash are one request, in the canonical form', async () => {
    const hash = awkwardHash();
    const values = writings(hashSpellings(Buffer.from(hash, 'base64')));
    const asked = await allAnswerAlike(
      values.map((value) => `/api/v3/adjacentTransactions?direction=out&hash=${value}`),
    );
    expect(asked).toBe(`/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=out`);
  });

  it('of several accounts keep their order, and of equal accounts only the last', async () => {
    const [a, b] = world.indexer.chain.accounts.wallets;
    if (a === undefined || b === undefined) throw new Error('no wallets');
    const asked = await allAnswerAlike(
      [
        [a.address, b.address],
        [b.address, a.address, b.friendly],
        [a.friendly, a.address, b.address.toLowerCase()],
      ].map((account) => targetOf('pendingTraces', { account })),
    );
    expect(asked).toBe(targetOf('pendingTraces', { account: [a.address, b.address] }));
    const other = await world.ask(targetOf('pendingTraces', { account: [b.address, a.address] }));
    expect(other.cache).toMatchObject({ fwd: 'miss' });
  });

  it('of an empty ext_msg_hash are sent in one form, which the indexer answers', async () => {
    const queries = ['ext_msg_hash=', 'ext_msg_hash', 'ext_msg_hash[]=,', 'ext_msg_hash=&ext_msg_hash='];
    const targets = queries.map((query) => `/api/v3/pendingTraces?${query}`);
    const direct = await world.askIndexer(targets[0] ?? '');
    for (const target of targets) {
      expect(await world.ask(target)).toMatchObject({ status: direct.status, digest: direct.digest });
      expect(world.forwarded.at(-1)?.target).toBe(targets[0]);
    }
  });

  it('are never mistaken for another request: an omitted parameter stays omitted', async () => {
    let seqno = world.indexer.chain.headSeqno;
    // Each about a different block: a complete list also answers other limits.
    const ofNextBlock = (more = {}) => targetOf('masterchainBlockShards', { seqno: seqno--, ...more });
    const { hash } = settledParent(world);
    const targets = [
      ofNextBlock(),
      ofNextBlock({ limit: 10 }),
      ofNextBlock({ limit: 100 }),
      ofNextBlock({ offset: 0 }),
      ofNextBlock({ limit: 100, offset: 0 }),
      targetOf('masterchainBlockShards', { seqno, sort: 'asc' }),
      targetOf('masterchainBlockShards', { seqno, sort: 'desc' }),
      targetOf('adjacentTransactions', { hash }),
      targetOf('adjacentTransactions', { hash, direction: 'in' }),
      targetOf('adjacentTransactions', { hash, direction: 'out' }),
      targetOf('pendingTraces', { ext_msg_hash: hash }),
    ];
    for (const target of targets) expect((await world.ask(target)).cache).toMatchObject({ fwd: 'miss' });
    expect(world.forwarded.map(({ target }) => target)).toEqual(targets);
  });
});
