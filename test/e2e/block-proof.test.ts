import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { purged } from './purge-world.ts';

// Everything uses real clocks, because the follower does. No assertion depends on time: expected events are polled for,
// and forbidden ones are checked after an event that shows that they could have happened.

const OPERATIONS = 'transactions,addressInformation,walletInformation';
/**
 * Enough polled accounts that the follower pays for itself. Each is polled once per lifetime of a live answer (400 ms).
 */
const ACCOUNTS = 150;
const POLL_EVERY_MS = 450;
const PATIENCE = { timeout: 30_000, interval: 50 };
const HANGS = { kind: 'hang' } as const;

let indexer: Indexer;
let proxy: RunningProxy;
let crowd: NodeJS.Timeout;

const stateOf = ({ address }: Account) => `/api/v3/addressInformation?address=${address}`;
const pageOf = ({ address }: Account) => `/api/v3/transactions?account=${address}&limit=20`;
const accountAt = (place: number) => indexer.chain.idle.all[place] as Account;
const detailOf = async (target: string) => (await proxy.reply(target)).cache['detail'];
const untilProven = (target: string) => expect.poll(() => detailOf(target), PATIENCE).toBe('proven');
const followerIs = (state: string) => proxy.metric('toncache_block_follower_state', { state });
/** Requests at the indexer, by their targets in the clients' spelling. */
const sent = new Map<string, number>();
const sentFor = (target: string) => sent.get(target) ?? 0;

beforeAll(async () => {
  const startAt = Date.now() - 60_000;
  const idle = { count: ACCOUNTS, everyMs: Number.POSITIVE_INFINITY };
  indexer = await startIndexer({ port: 0, dialect: '1.3', chain: new Chain({ startAt, idle }), now: Date.now });
  indexer.requests.on('request', ({ target }) => {
    const decoded = decodeURIComponent(target);
    sent.set(decoded, sentFor(decoded) + 1);
  });
  proxy = await startProxy({ upstreamUrl: indexer.url, env: { CACHE_OPERATIONS: OPERATIONS } });
  const poll = () => void Promise.allSettled(indexer.chain.idle.all.map((account) => proxy.ask(stateOf(account))));
  crowd = setInterval(poll, POLL_EVERY_MS);
  await vi.waitFor(async () => expect(await followerIs('alive')).toBe(1), PATIENCE);
}, PATIENCE.timeout);

afterEach(() => indexer.faults.clear());

afterAll(async () => {
  clearInterval(crowd);
  await proxy[Symbol.asyncDispose]();
  await indexer.close();
});

describe('while no block touches an account', () => {
  test.each([
    ['its state', stateOf],
    ['the page of its transactions', pageOf],
  ])('%s is requested once, and then served as proven, with no-store', async (_, targetOf) => {
    const target = targetOf(accountAt(1));
    await untilProven(target);
    const before = sentFor(target);
    const { headers, cache } = await proxy.reply(target);
    expect(cache).toEqual({ hit: true, detail: 'proven' });
    expect(headers['cache-control']).toBe('no-store');
    expect(sentFor(target)).toBe(before);
  });

  test('a proven answer is revalidated by its entity tag, like any hit', async () => {
    const target = pageOf(accountAt(1));
    await untilProven(target);
    const { headers } = await proxy.reply(target);
    const again = await proxy.reply(target, { headers: { 'if-none-match': String(headers['etag']) } });
    expect([again.status, again.cache['detail']]).toEqual([304, 'proven']);
  });

  test('explain shows the block up to which an answer is proven', async () => {
    await untilProven(stateOf(accountAt(2)));
    const { text } = await proxy.askAdmin(`/explain?target=${encodeURIComponent(stateOf(accountAt(2)))}`);
    expect(JSON.parse(text).proof).toEqual({ isProven: true, upToBlock: expect.any(Number) });
  });
});

describe('when a block touches an account', () => {
  test.each([
    ['its state', stateOf, (text: string) => JSON.parse(text).last_transaction_lt],
    ['the page of its transactions', pageOf, (text: string) => JSON.parse(text).transactions[0]?.lt],
  ])('%s is requested again, and never regresses', async (_, targetOf, ltIn) => {
    const account = accountAt(3);
    const target = targetOf(account);
    await untilProven(target);
    const ltNow = async () => ltIn((await proxy.ask(target)).text);
    const before = await ltNow();
    indexer.chain.deposit(account, Date.now() + 2000);
    await expect.poll(ltNow, PATIENCE).not.toBe(before);
    const after = await ltNow();
    expect(BigInt(after)).toBeGreaterThan(BigInt(before ?? 0));
    await untilProven(target);
    expect(await ltNow()).toBe(after);
  });
});

describe('nothing is proven', () => {
  test('while the blocks cannot be read; once they can, answers are proven again', async () => {
    const target = stateOf(accountAt(4));
    await untilProven(target);
    for (const operation of ['masterchainInfo', 'masterchainBlockShards'] as const)
      indexer.faults.inject(HANGS, { operation });
    await expect.poll(() => followerIs('behind'), PATIENCE).toBe(1);
    expect(await detailOf(target)).not.toBe('proven');
    indexer.faults.clear();
    await untilProven(target);
  });

  test('after a purge of everything, until answers are requested again', async () => {
    const target = stateOf(accountAt(5));
    await untilProven(target);
    const before = sentFor(target);
    await purged(proxy, { all: true });
    await untilProven(target);
    expect(sentFor(target)).toBeGreaterThan(before);
  });
});

test('a block that a scanner requests in the same form as the follower is loaded once', async () => {
  const first = indexer.chain.headSeqno + 1;
  const pages = Array.from(
    { length: 5 },
    (_, n) => `/api/v3/transactionsByMasterchainBlock?seqno=${first + n}&limit=1000&sort=asc`,
  );
  for (const [n, page] of pages.entries()) {
    await expect.poll(() => indexer.chain.headSeqno, { ...PATIENCE, interval: 20 }).toBeGreaterThanOrEqual(first + n);
    expect((await proxy.ask(page, { headers: { 'x-no-address-book': 'true' } })).status).toBe(200);
  }
  await expect.poll(() => proxy.metric('toncache_block_follower_seqno'), PATIENCE).toBeGreaterThan(first + 5);
  expect(pages.map(sentFor)).toEqual([1, 1, 1, 1, 1]);
});

test('an empty account is refused without a request to the indexer', async () => {
  for (const target of ['/api/v3/addressInformation?address=', '/api/v3/transactions?account=']) {
    const { status, text } = await proxy.ask(target);
    expect([status, JSON.parse(text).error]).toEqual([422, expect.stringMatching(/is empty; accepted: /)]);
    expect(sentFor(target)).toBe(0);
  }
});
