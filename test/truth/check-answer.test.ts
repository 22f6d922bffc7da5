import { expect, test } from 'vitest';
import { type Allowance, type ClientAnswer, checkAnswer } from './check-answer.ts';
import type { State } from './states.ts';

const NOT_FOUND = { status: 404, text: '{"error":"adjacent transactions not found"}' };
/** Born at 1000 s: it lives for the shortest lifetime, 1 s, and is served stale for another. */
const children = (...hashes: string[]) => ({
  status: 200,
  text: JSON.stringify({ transactions: hashes.map((hash) => ({ hash, now: 1000, emulated: false })) }),
});

/** Nothing until 1 s after, then a child until 10 s after, then two. */
const BORN = 1_000_000;
const STATES: readonly State[] = [
  { fromAt: Number.NEGATIVE_INFINITY, untilAt: BORN + 1000, said: () => NOT_FOUND },
  { fromAt: BORN + 1000, untilAt: BORN + 10_000, said: () => children('a') },
  { fromAt: BORN + 10_000, untilAt: Number.POSITIVE_INFINITY, said: () => children('a', 'b') },
];

const STRICT: Allowance = {
  machineDelayMs: 0,
  lagMs: 0,
  staleIfError: false,
  emptyWatchedMs: 0,
  notBefore: Number.NEGATIVE_INFINITY,
  seenFrom: Number.NEGATIVE_INFINITY,
};

function check(given: { readonly status: number; readonly text: string }, atMs: number, more: object = {}): unknown {
  const {
    cacheStatus = 'toncache; hit; ttl=0; detail=memory',
    age = '9',
    ...allowance
  } = more as Partial<ClientAnswer & Allowance>;
  const sentAt = BORN + atMs;
  const call = { operation: 'adjacentTransactions', hashes: ['a'] } as const;
  const answer = { call, sentAt, receivedAt: sentAt + 5, ...given, cacheStatus, age };
  return checkAnswer(answer, STATES, { ...STRICT, ...allowance });
}

const STALE = { cacheStatus: 'toncache; hit; ttl=-1; detail=memory' };
const MISS = { cacheStatus: 'toncache; fwd=miss; fwd-status=200; stored' };

test.each<[string, ReturnType<typeof children>, number, object]>([
  ['is what the indexer says now', children('a'), 5000, {}],
  ['has ceased to be true within its lifetime', children('a'), 11_000, {}],
  ['is stale, and is refreshed', children('a'), 11_900, STALE],
  ['was asked for by an earlier client', children('a'), 10_900, { cacheStatus: `${MISS.cacheStatus}; collapsed` }],
  ['is stale while the indexer fails', children('a'), 60_000, { ...STALE, age: '50', staleIfError: true }],
  ['waited for this machine', children('a'), 11_200, { machineDelayMs: 250 }],
  ['is of a replica that lags', children('a'), 12_900, { lagMs: 2000 }],
])('an answer is true where it %s', (_, given, atMs, more) => {
  expect(check(given, atMs, more)).toMatchObject({ verdict: 'true' });
});

test.each<[string, string, ReturnType<typeof children>, number, object]>([
  ['was never true', 'never says this', children('c'), 5000, {}],
  ['differs in a byte', 'the bytes alone differ', { status: 200, text: `${children('a').text} ` }, 5000, {}],
  ['is true only later', 'says this only later', children('a', 'b'), 5000, {}],
  ['has ceased to be true longer ago than its lifetime', '1000 ms are allowed', children('a'), 11_100, {}],
  ['is a 404 of a while ago', '300 ms are allowed', NOT_FOUND, 1400, {}],
  ['says that it came from the indexer just now', '0 ms are allowed', children('a'), 10_100, MISS],
  ['is stale although nothing fails', '2000 ms are allowed', children('a'), 12_100, STALE],
  ['says that it is younger than it can be', '1000 ms are allowed', children('a'), 11_100, { ...STALE, age: '0' }],
  ['was purged', '900 ms are allowed', children('a'), 11_000, { notBefore: BORN + 10_100 }],
  [
    'is answered here although it is not true now',
    '0 ms are allowed',
    NOT_FOUND,
    1010,
    { cacheStatus: 'toncache; detail=overloaded' },
  ],
  [
    'has a Cache-Status that nobody can read',
    'not the member of toncache',
    children('a'),
    5000,
    { cacheStatus: 'HIT' },
  ],
])('an answer is a lie where it %s', (_, reason, given, atMs, more) => {
  expect(check(given, atMs, more)).toMatchObject({ verdict: 'lie', reason: expect.stringContaining(reason) });
});

test('an answer is a regression where the same client saw a newer one', () => {
  const seenFrom = BORN + 10_000;
  expect(check(children('a'), 10_500, { seenFrom })).toMatchObject({ verdict: 'regression' });
  expect(check(children('a', 'b'), 10_500, { seenFrom })).toMatchObject({ verdict: 'true', fromAt: seenFrom });
});
