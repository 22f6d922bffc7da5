import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACCEPTED_AFTER_MS } from '../../src/cache/precedence.ts';
import { Fleet, someChildren, someMessage, someParent } from '../support/fleet.ts';
import { children, type JsonAnswer, NOT_FOUND, pendingTrace } from '../support/json-upstream.ts';
import { startRedis } from '../support/redis-server.ts';
import type { RunningProxy } from '../support/start-proxy.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 1_800_000_000_000;

let fleet: Fleet;
let answer: JsonAnswer;
let now: number;

async function ask(target: string, proxy: RunningProxy = fleet.get(0)) {
  const { status, text, headers, cache } = await proxy.reply(target);
  return { status, text, age: Number(headers['age']), cache };
}

/** As from Redis, if there is one: it had hours for that. */
async function leap(ms: number): Promise<void> {
  await Promise.all(fleet.proxies.map((proxy) => proxy.untilRedisHasAll()));
  now += ms;
}

function regressedAnswers(operation: string, proxy = fleet.get(0)): Promise<number> {
  return proxy.metric('answersRegressed', { operation });
}

const olderAnswersOf = (proxy = fleet.get(0)) => proxy.metric('olderAnswers');

const BLOCK_SET = 62_000_000;
const masterchainBlock = { workchain: -1, seqno: BLOCK_SET };
const shard = (seqno: number) => ({ workchain: 0, seqno, masterchain_block_ref: { workchain: -1, seqno: BLOCK_SET } });
const blocks = (...list: object[]): JsonAnswer => ({ status: 200, body: { blocks: list } });

let blockSets = 0;
/** A masterchain block by a spelling of its own: pages have separate keys. */
const someBlock = () => `/api/v3/masterchainBlockShards?seqno=${BLOCK_SET}&limit=${500 + ++blockSets}`;

/** The kept answer, the regressed answer, and the age at which the kept one is too old to be served. */
const REGRESSED: [string, () => string, JsonAnswer, JsonAnswer, number][] = [
  ['a 404 after children', someChildren, children('a', 'b'), NOT_FOUND, 1 * HOUR + MINUTE],
  ['other children', someChildren, children('a', 'b'), children('a', 'c', 'd'), 1 * HOUR + MINUTE],
  [
    'a 404 after a masterchain block',
    someBlock,
    blocks(masterchainBlock, shard(1)),
    NOT_FOUND,
    24 * HOUR + 10 * MINUTE,
  ],
  [
    'shard blocks without the masterchain block',
    someBlock,
    blocks(masterchainBlock),
    blocks(shard(1)),
    24 * HOUR + 10 * MINUTE,
  ],
];

const operationOf = (target: string) => /v3\/([^?]+)/.exec(target)?.[1] ?? '';

afterEach(() => fleet[Symbol.asyncDispose]());

describe('on two instances, an answer', () => {
  beforeEach(async () => {
    now = START;
    fleet = await Fleet.start(() => answer, { instances: 2, now: () => now });
    answer = children('a');
    await fleet.learnHeads();
  });
  const other = () => fleet.get(1);

  it.each(REGRESSED)('that is regressed is not served: %s', async (_, someTarget, complete, regressed, tooOldMs) => {
    const target = someTarget();
    answer = complete;
    const first = await ask(target);
    expect(first).toMatchObject({ status: 200, cache: { fwd: 'miss', 'fwd-status': 200, stored: true } });
    answer = regressed;
    await leap(tooOldMs);
    const second = await ask(target, other());
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(second.cache).toEqual({ fwd: 'stale', 'fwd-status': regressed.status, detail: 'regressed' });
    expect(second.age).toBe(tooOldMs / 1000);
    expect(await regressedAnswers(operationOf(target), other())).toBe(1);
    for (const proxy of fleet.proxies) expect(await olderAnswersOf(proxy)).toBe(0);
    expect(fleet.asked).toBe(2);
    // It is extended: for one more lifetime no request reaches the indexer.
    await leap(HOUR - 1);
    for (const proxy of fleet.proxies) {
      expect(await ask(target, proxy)).toMatchObject({ status: 200, text: first.text, cache: { hit: true } });
    }
    expect(fleet.asked).toBe(2);
  });

  it('with all earlier rows and more is served and stored', async () => {
    const target = someChildren();
    answer = children('a', 'b');
    await ask(target);
    answer = children('b', 'c', 'a');
    await leap(HOUR + MINUTE);
    const { text, cache } = await ask(target, other());
    expect(text).toBe(JSON.stringify(answer.body));
    expect(cache).toEqual({ fwd: 'stale', 'fwd-status': 200, stored: true });
  });

  it('with an additional pending child is not regressed, nor is the next one without it', async () => {
    const target = someChildren();
    answer = children('a');
    await ask(target);
    const rows = (children('a').body as { transactions: object[] }).transactions;
    const pending = { hash: 'b', now: 1_700_000_000, emulated: true, finality: 'pending', mc_block_seqno: null };
    answer = { status: 200, body: { transactions: [...rows, pending] } };
    await leap(HOUR + MINUTE);
    const more = await ask(target, other());
    expect(more).toMatchObject({ text: JSON.stringify(answer.body), cache: { fwd: 'stale', stored: true } });
    answer = children('a');
    await leap(3_000);
    const fewer = await ask(target, other());
    expect(fewer).toMatchObject({ text: JSON.stringify(answer.body), cache: { 'fwd-status': 200, stored: true } });
    expect(await regressedAnswers('adjacentTransactions', other())).toBe(0);
  });

  it('of 404 is served if nothing was cached, and replaced by a more complete one', async () => {
    const target = someChildren();
    answer = NOT_FOUND;
    expect(await ask(target)).toMatchObject({ status: 404, cache: { stored: true } });
    answer = children('a');
    await leap(301);
    expect(await ask(target, other())).toMatchObject({ status: 200, cache: { fwd: 'miss', stored: true } });
  });

  it('that is less complete is served if the earlier one is too old, and counted as an older answer', async () => {
    const target = someChildren();
    const served: string[] = [];
    const serve = async (next: JsonAnswer, passedMs: number) => {
      answer = next;
      await leap(passedMs);
      served.push((await ask(target)).text);
    };
    await serve(children('a', 'b'), 0);
    await serve(children('a'), 2 * DAY);
    expect(await olderAnswersOf()).toBe(1);
    await serve(children('a', 'b', 'c'), 2 * HOUR);
    expect(await olderAnswersOf()).toBe(1);
    await serve(NOT_FOUND, 2 * DAY);
    expect(await olderAnswersOf()).toBe(2);
    // Another instance that has served the fuller answer finds the next one in Redis.
    await ask(target, other());
    expect(await olderAnswersOf(other())).toBe(0);
    await serve(children('a', 'b', 'c'), MINUTE);
    await ask(target, other());
    await serve(children('b'), 2 * DAY);
    expect((await ask(target, other())).text).toBe(served.at(-1));
    expect(await olderAnswersOf(other())).toBe(1);
    const expected = ['ab', 'a', 'abc']
      .map((hashes) => children(...hashes))
      .concat(NOT_FOUND, children(...'abc'), children('b'));
    expect(served).toEqual(expected.map(({ body }) => JSON.stringify(body)));
  });

  it('about pending traces is never regressed: a trace that ends disappears immediately', async () => {
    const target = someMessage();
    answer = pendingTrace('a', 'b');
    await ask(target);
    answer = { status: 200, body: { traces: [] } };
    await leap(801);
    const { text, cache } = await ask(target, other());
    expect([text, cache['stored']]).toEqual(['{"traces":[]}', true]);
    expect(await regressedAnswers('pendingTraces', other())).toBe(0);
    await leap(100);
    for (const proxy of fleet.proxies) expect((await ask(target, proxy)).text).toBe('{"traces":[]}');
  });
});

it('an answer that is not stored is counted as an older answer, too', async () => {
  now = START;
  const overrides = { rows: { notFound: { lifetime: 0, staleWhileRevalidate: 0, staleIfError: 0 } } };
  fleet = await Fleet.start(() => answer, { instances: 1, memoryAlone: true, overrides, now: () => now });
  const target = someChildren();
  answer = children('a');
  await ask(target);
  answer = NOT_FOUND;
  await leap(2 * DAY);
  const { status, cache } = await ask(target);
  expect([status, cache['fwd'], cache['stored'], cache['detail']]).toEqual([404, 'miss', undefined, undefined]);
  expect(await olderAnswersOf()).toBe(1);
});

describe('the answer to a refresh', () => {
  beforeEach(async () => {
    now = START;
    fleet = await Fleet.start(() => answer, { instances: 1, now: () => now });
    answer = children('a');
    await fleet.learnHeads();
  });

  it('extends the lifetime of the kept answer when it is regressed', async () => {
    const target = someChildren();
    answer = children('a');
    const { text } = await ask(target);
    answer = NOT_FOUND;
    await leap(HOUR + 1);
    expect(await ask(target)).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1 } });
    await expect.poll(() => regressedAnswers('adjacentTransactions')).toBe(1);
    expect(await ask(target)).toMatchObject({ status: 200, text, cache: { hit: true } });
    expect((await ask(target)).cache['ttl']).toBe(3600);
  });
});

describe('ten minutes of regressed answers', () => {
  /** So young that they live for a second. */
  const young = (...hashes: string[]): JsonAnswer => ({
    status: 200,
    body: {
      transactions: hashes.map((hash) => ({ hash, now: Math.floor(now / 1000), mc_block_seqno: 7, emulated: false })),
    },
  });

  const startAlone = async () => {
    now = START;
    fleet = await Fleet.start(() => answer, { instances: 1, memoryAlone: true, now: () => now });
  };

  it('make toncache accept the version of the indexer, and not before', async () => {
    await startAlone();
    const target = someChildren();
    answer = young('a', 'b');
    await ask(target);
    answer = NOT_FOUND;
    await leap(2_000);
    const acceptedAt = now + ACCEPTED_AFTER_MS;
    for (; now < acceptedAt; await leap(10_000)) {
      expect(await ask(target)).toMatchObject({ status: 200, cache: { 'fwd-status': 404, detail: 'regressed' } });
    }
    expect(await ask(target)).toMatchObject({ status: 404, cache: { 'fwd-status': 404, stored: true } });
  });

  it('start again after an answer that was not regressed', async () => {
    await startAlone();
    const target = someChildren();
    const full = young('a', 'b');
    answer = full;
    await ask(target);
    const startedAt = now;
    for (await leap(2_000); now < startedAt + 2 * ACCEPTED_AFTER_MS; await leap(10_000)) {
      // Long enough for a request to reach the indexer: the kept entry is extended by up to two minutes in the end.
      answer = (now - startedAt) % (ACCEPTED_AFTER_MS / 2) < 130_000 ? full : NOT_FOUND;
      expect((await ask(target)).status).toBe(200);
    }
  });

  it.each([false, true])('count in Redis, too, even if it takes no writes: %s', async (takesNoWrites) => {
    await using redis = await startRedis();
    // Redis compares by its own clock, which no test moves.
    now = Date.now();
    fleet = await Fleet.start(() => answer, { instances: 1, redisUrl: redis.url, now: () => now });
    const target = someParent();
    answer = children('a');
    await ask(target);
    await leap(0);
    answer = NOT_FOUND;
    using client = { redis: new Redis(redis.url), [Symbol.dispose]: () => client.redis.disconnect() };
    if (takesNoWrites) await client.redis.config('SET', 'min-replicas-to-write', '1');
    const statuses: number[] = [];
    for (let time = 0; time < 2; time++) {
      await leap(75 * MINUTE);
      statuses.push((await ask(target)).status);
    }
    expect(statuses).toEqual([200, 404]);
  });
});

describe('an answer that was requested before the kept one, and comes later', () => {
  it.each([
    ['is as complete', children('b', 'a')],
    ['is less complete', children('a')],
    ['is a 404', NOT_FOUND],
  ])('is served to no client: it %s', async (_, earlier) => {
    const waiting: ((given: JsonAnswer) => void)[] = [];
    now = START;
    const hold = () => new Promise<JsonAnswer>((resolve) => waiting.push(resolve));
    fleet = await Fleet.start(hold, { instances: 1, overrides: { coalescing: { collapseWindow: 1 } }, now: () => now });
    const target = someChildren();
    const first = ask(target);
    await fleet.untilAsked(1);
    now += 1_000;
    const second = ask(target);
    await fleet.untilAsked(2);
    waiting[1]?.(children('a', 'b'));
    const newer = await second;
    waiting[0]?.(earlier);
    const { status, text, cache } = await first;
    expect([status, text]).toEqual([200, newer.text]);
    expect(cache).toEqual({ fwd: 'miss', 'fwd-status': earlier.status, detail: 'superseded' });
    expect((await ask(target)).text).toBe(newer.text);
  });
});
