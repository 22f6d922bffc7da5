import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FollowedWorld, HANGS, PATIENCE, pageOf, stateOf } from './followed-world.ts';
import { purged } from './purge-world.ts';

// Everything uses real clocks, because the follower does. No assertion depends on time: expected events are polled for,
// and forbidden ones are checked after an event that shows that they could have happened.

let world: FollowedWorld;

beforeAll(async () => {
  world = await FollowedWorld.open();
});

afterEach(() => world.indexer.faults.clear());

afterAll(() => world[Symbol.asyncDispose]());

describe('while no block touches an account', () => {
  test.each([
    ['its state', stateOf],
    ['the page of its transactions', pageOf],
  ])('%s is requested once, and then served as proven, with no-store', async (_, targetOf) => {
    const target = targetOf(world.accountAt(1));
    const askTwice = async () => {
      await world.untilProven(target);
      const before = world.sentFor(target);
      const { headers, cache } = await world.proxy.reply(target);
      return { cache, control: headers['cache-control'], sent: world.sentFor(target) - before };
    };
    // On a busy machine the follower may be behind for a moment, here and in the next tests.
    const proven = { cache: { hit: true, detail: 'proven' }, control: 'no-store', sent: 0 };
    await expect.poll(askTwice, PATIENCE).toEqual(proven);
  });

  test('a proven answer is revalidated by its entity tag, like any hit', async () => {
    const target = pageOf(world.accountAt(1));
    const revalidated = async () => {
      await world.untilProven(target);
      const { headers } = await world.proxy.reply(target);
      const again = await world.proxy.reply(target, { headers: { 'if-none-match': String(headers['etag']) } });
      expect(again.status).toBe(304);
      return again.cache['detail'];
    };
    await expect.poll(revalidated, PATIENCE).toBe('proven');
  });

  test('explain shows the block up to which an answer is proven, and its order: its last transaction', async () => {
    const target = stateOf(world.accountAt(2));
    const explained = async () => {
      await world.untilProven(target);
      const { text } = await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target)}`);
      const { proof, memory } = JSON.parse(text);
      const { last_transaction_lt: order } = JSON.parse((await world.proxy.ask(target)).text);
      expect(memory.order).toBe(order);
      return proof;
    };
    await expect.poll(explained, PATIENCE).toEqual({ isProven: true, upToBlock: expect.any(Number) });
  });
});

describe('when a block touches an account', () => {
  test.each([
    ['its state', stateOf, (text: string) => JSON.parse(text).last_transaction_lt],
    ['the page of its transactions', pageOf, (text: string) => JSON.parse(text).transactions[0]?.lt],
  ])('%s is requested again, and never regresses', async (_, targetOf, ltIn) => {
    const account = world.accountAt(3);
    const target = targetOf(account);
    await world.untilProven(target);
    const ltNow = async () => ltIn((await world.proxy.ask(target)).text);
    const before = await ltNow();
    world.indexer.chain.deposit(account, Date.now() + 2000);
    await expect.poll(ltNow, PATIENCE).not.toBe(before);
    const after = await ltNow();
    expect(BigInt(after)).toBeGreaterThan(BigInt(before ?? 0));
    await world.untilProven(target);
    expect(await ltNow()).toBe(after);
  });
});

describe('nothing is proven', () => {
  test('while the blocks cannot be read; once they can, answers are proven again', async () => {
    const target = stateOf(world.accountAt(4));
    await world.untilProven(target);
    world.indexer.faults.inject(HANGS, { operation: 'masterchainInfo' });
    await expect.poll(() => world.followerIs('behind'), PATIENCE).toBe(1);
    expect(await world.detailOf(target)).not.toBe('proven');
    world.indexer.faults.clear();
    await world.untilProven(target);
  });

  test('after a purge of everything, until answers are requested again', async () => {
    const target = stateOf(world.accountAt(5));
    await world.untilProven(target);
    const before = world.sentFor(target);
    await purged(world.proxy, { all: true });
    await world.untilProven(target);
    expect(world.sentFor(target)).toBeGreaterThan(before);
  });
});

test('a block that a scanner requests in the same form as the follower is loaded once', async () => {
  const first = world.indexer.chain.headSeqno + 1;
  const pages = Array.from(
    { length: 5 },
    (_, n) => `/api/v3/transactionsByMasterchainBlock?seqno=${first + n}&limit=1000&sort=asc`,
  );
  for (const [n, page] of pages.entries()) {
    await expect
      .poll(() => world.indexer.chain.headSeqno, { ...PATIENCE, interval: 20 })
      .toBeGreaterThanOrEqual(first + n);
    expect((await world.proxy.ask(page, { headers: { 'x-no-address-book': 'true' } })).status).toBe(200);
  }
  await expect.poll(() => world.proxy.metric('toncache_block_follower_seqno'), PATIENCE).toBeGreaterThan(first + 5);
  expect(pages.map((page) => world.sentFor(page))).toEqual([1, 1, 1, 1, 1]);
});

test('the follower starts although most polls are refused for the rate: a proof would answer them', async () => {
  // Fewer answers than its expected cost twice.
  const env = { CACHE_OPERATIONS: 'addressInformation', UPSTREAM_RPS: '8' };
  await using limited = await FollowedWorld.open(env, 'on');
  expect(await limited.proxy.metric('toncache_loads_refused_total', { reason: 'rate-limit' })).toBeGreaterThan(0);
});

test('an empty account is refused without a request to the indexer', async () => {
  for (const target of ['/api/v3/addressInformation?address=', '/api/v3/transactions?account=']) {
    const { status, text } = await world.proxy.ask(target);
    expect([status, JSON.parse(text).error]).toEqual([422, expect.stringMatching(/is empty; accepted: /)]);
    expect(world.sentFor(target)).toBe(0);
  }
});

describe('once a page has shown a transaction of a block that the follower cannot read', () => {
  test.each([
    ['no kept answer lacks it', undefined],
    // The answers on the way were made before the block.
    ['no answer lacks it that was on its way to another client', { kind: 'slow', chunkBytes: 40, pauseMs: 100 }],
  ] as const)('%s', async (_, slow) => {
    const { chain, faults } = world.indexer;
    const accounts = Array.from({ length: 20 }, (_, n) => world.accountAt(20 + n));
    for (const account of accounts) await world.untilProven(stateOf(account));
    faults.inject(HANGS, { operation: 'masterchainInfo' });
    await expect.poll(() => world.followerIs('behind'), PATIENCE).toBe(1);
    if (slow !== undefined) faults.inject(slow, { operation: 'addressInformation' });
    const seqno = chain.headSeqno + 8;
    for (const account of accounts) chain.deposit(account, chain.clock.committedAt(seqno));
    const page = `/api/v3/transactionsByMasterchainBlock?seqno=${seqno}&limit=500`;
    const rowsOf = async (): Promise<readonly { readonly account: string; readonly lt: string }[]> =>
      JSON.parse((await world.proxy.ask(page)).text).transactions ?? [];
    let rows: Awaited<ReturnType<typeof rowsOf>> = [];
    await expect
      .poll(
        async () => {
          rows = await rowsOf();
          return rows.length;
        },
        { ...PATIENCE, interval: 10 },
      )
      .toBeGreaterThan(0);
    const shown = await Promise.all(
      accounts.map(async (account) => {
        const lt = rows.find((row) => row.account === account.address)?.lt ?? 'not in the page';
        const { text } = await world.proxy.ask(stateOf(account));
        return BigInt(JSON.parse(text).last_transaction_lt) >= BigInt(lt);
      }),
    );
    expect(shown).toEqual(accounts.map(() => true));
  });
});
