import { describe, expect, test } from 'vitest';
import { type Account, Accounts } from '../../src/tools/simulator/accounts.ts';
import type { Call } from './call.ts';
import { checkAnswer } from './check-answer.ts';
import type { State } from './states.ts';
import { comparedForMs } from './windows.ts';

const NOW = Date.UTC(2026, 0, 1);
const NOTHING = '{"traces":[]}';
const SOMETHING = '{"traces":[{}]}';

/** States by the indexer's answer and by how long ago each began, ms. The first state has no beginning. */
function statesOf(...said: readonly (readonly [text: string, sinceMs: number])[]): State[] {
  return said.map(([text, sinceMs], place) => ({
    fromAt: NOW - sinceMs,
    untilAt: NOW - (said[place + 1]?.[1] ?? Number.NEGATIVE_INFINITY),
    said: () => ({ status: 200, text }),
  }));
}

const ACCOUNT: Account = new Accounts(1).elector;
const PROVEN = 'toncache; hit; detail=proven';

/** The verdict on the first answer, which another one replaced `sinceMs` ago. */
function verdictOfAccount(more: Partial<Call>, sinceMs: number, cacheStatus: string, age: string, lagMs = 0) {
  const call: Call = { operation: 'transactions', accounts: [ACCOUNT], ...more };
  const [before, after] = ['{"transactions":[]}', '{"transactions":[{}]}'];
  const answer = { call, sentAt: NOW, receivedAt: NOW + 5, status: 200, text: before, age, cacheStatus };
  const granted = { machineDelayMs: 0, lagMs, staleIfError: true, falls: [] };
  const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: Number.NEGATIVE_INFINITY };
  return checkAnswer(answer, statesOf([before, Number.POSITIVE_INFINITY], [after, sinceMs]), { ...granted, ...seen })
    .verdict;
}

/** The verdict on an empty answer to a client that has seen the state that began this long ago. */
function verdictOn(states: readonly State[], seenSinceMs: number) {
  const call: Call = { operation: 'pendingTraces', hashes: ['x'] };
  const answer = { call, sentAt: NOW - 5, receivedAt: NOW, status: 200, text: NOTHING, age: '0' };
  const granted = { machineDelayMs: 0, lagMs: 0, staleIfError: false, falls: [] };
  const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: NOW - seenSinceMs };
  return checkAnswer({ ...answer, cacheStatus: 'toncache; hit; ttl=0; detail=memory' }, states, {
    ...granted,
    ...seen,
  });
}

test('an older answer for a client that saw a newer state is a regression', () => {
  const states = statesOf([NOTHING, Number.POSITIVE_INFINITY], [SOMETHING, 100]);
  expect(verdictOn(states, 100)).toMatchObject({ verdict: 'regression' });
  expect(verdictOn(states, Number.POSITIVE_INFINITY)).toMatchObject({ verdict: 'true', isOver: true });
});

test('an answer is compared with the next one until 60 s after the indexer sent it, less the delay of the machine', () => {
  const call: Call = { operation: 'addressInformation', accounts: [ACCOUNT] };
  const comparedMs = (ageSeconds: number, machineDelayMs: number) =>
    comparedForMs(call, { status: 200, text: '{"balance":"1"}' }, NOW, ageSeconds, machineDelayMs);
  expect([comparedMs(0, 0), comparedMs(0, 500)]).toEqual([10_000, 9500]);
  expect([comparedMs(55, 0), comparedMs(55, 500)]).toEqual([4000, 3500]);
});

test('a state that the chain no longer distinguishes from the previous one does not count as newer', () => {
  const known = statesOf([NOTHING, Number.POSITIVE_INFINITY], [NOTHING, 65_000], [SOMETHING, 100]);
  const forgotten = statesOf([NOTHING, Number.POSITIVE_INFINITY], [SOMETHING, 100]);
  for (const states of [known, forgotten]) expect(verdictOn(states, 65_000)).toMatchObject({ verdict: 'true' });
});

test.each<[answer: string, more: Partial<Call>, sinceMs: number, status: string, age: string, verdict: string]>([
  ['a proven one may lack a commit of the last second', {}, 1000, PROVEN, '30', 'true'],
  ['a proven one may not lack an older commit', {}, 1001, PROVEN, '30', 'lie'],
  [
    'a proven account state may not lack an older commit',
    { operation: 'addressInformation' },
    1001,
    PROVEN,
    '30',
    'lie',
  ],
  ['a fresh one may be outdated for its lifetime', {}, 400, 'toncache; hit; ttl=0; detail=memory', '0', 'true'],
  [
    'a fresh one may not be outdated for longer than its lifetime',
    {},
    401,
    'toncache; hit; ttl=0; detail=memory',
    '0',
    'lie',
  ],
  [
    'a collapsed one may be outdated for a second',
    {},
    1000,
    'toncache; fwd=miss; fwd-status=200; stored; collapsed',
    '0',
    'true',
  ],
  [
    'a collapsed one may not be outdated for longer than a second',
    {},
    1001,
    'toncache; fwd=miss; fwd-status=200; stored; collapsed',
    '0',
    'lie',
  ],
  [
    'a stale one may not be outdated for longer than its lifetime, even while the indexer fails',
    {},
    401,
    'toncache; hit; ttl=-1; detail=memory',
    '0',
    'lie',
  ],
  ['one with names may be proven for 5 minutes', {}, 0, PROVEN, '300', 'true'],
  ['one with names may not be proven for longer', {}, 0, PROVEN, '301', 'lie'],
  ['one with interfaces may be proven for a minute', { operation: 'accountStates' }, 0, PROVEN, '60', 'true'],
  ['one with interfaces may not be proven for longer', { operation: 'accountStates' }, 0, PROVEN, '61', 'lie'],
  [
    'an account state may not be proven for longer than 5 minutes',
    { operation: 'walletInformation' },
    0,
    PROVEN,
    '301',
    'lie',
  ],
  ['one that is about no account may not be proven', { accounts: [], hashes: ['x'] }, 0, PROVEN, '1', 'lie'],
])('of the answers about accounts, %s', (_, more, sinceMs, status, age, verdict) => {
  expect(verdictOfAccount(more, sinceMs, status, age)).toBe(verdict);
});

test('a proven answer may lack commits of the last second plus the replica lag', () => {
  expect(verdictOfAccount({}, 3000, PROVEN, '30', 2000)).toBe('true');
  expect(verdictOfAccount({}, 3001, PROVEN, '30', 2000)).toBe('lie');
});

describe('the names in a list of transfers', () => {
  const call: Call = { operation: 'jetton/transfers', owner: ACCOUNT };
  const body = (rows: string, names: string) =>
    `{"jetton_transfers":[${rows}],"address_book":{},"metadata":{${names}}}`;
  /** The verdict on an answer with names that the next ones replaced this long ago. */
  const verdictAfter = (sinceMs: number, rows: string) => {
    const states = statesOf([body('', '"it":"old"'), Number.POSITIVE_INFINITY], [body(rows, '"it":"new"'), sinceMs]);
    const answer = { call, sentAt: NOW, receivedAt: NOW + 5, status: 200, text: body('', '"it":"old"') };
    const granted = { machineDelayMs: 0, lagMs: 0, staleIfError: false, falls: [] };
    const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: Number.NEGATIVE_INFINITY };
    return checkAnswer({ ...answer, age: '299', cacheStatus: PROVEN }, states, { ...granted, ...seen }).verdict;
  };

  test('may be 5 minutes old', () => {
    expect([300_000, 300_001].map((sinceMs) => verdictAfter(sinceMs, ''))).toEqual(['true', 'lie']);
  });

  test('do not excuse rows that are older than a second', () => {
    expect([1000, 1001].map((sinceMs) => verdictAfter(sinceMs, '{}'))).toEqual(['true', 'lie']);
  });
});

test.each<[more: Partial<Call>, longestS: number]>([
  [{ operation: 'jetton/wallets', accounts: [], owner: ACCOUNT }, 300],
  [{ operation: 'jetton/wallets' }, 60],
  [{ operation: 'jetton/transfers', accounts: [], owner: ACCOUNT }, 300],
  [{ operation: 'jetton/masters' }, 60],
])('an answer of the form %j may be proven for %d s', (more, longestS) => {
  const verdicts = [longestS, longestS + 1].map((ageS) => verdictOfAccount(more, 0, PROVEN, String(ageS)));
  expect(verdicts).toEqual(['true', 'lie']);
});

test.each([
  ['null', 300],
  ['{"is_indexed":true}', 60],
])('a list with mintless_info %s may be proven for %d s', (mintless, longestS) => {
  const call: Call = { operation: 'jetton/wallets', owner: ACCOUNT };
  const verdicts = [longestS, longestS + 1].map((ageS) => {
    const text = `{"jetton_wallets":[{"mintless_info":${mintless}}]}`;
    const answer = {
      call,
      sentAt: NOW,
      receivedAt: NOW + 5,
      status: 200,
      text,
      age: String(ageS),
      cacheStatus: PROVEN,
    };
    const granted = { machineDelayMs: 0, lagMs: 0, staleIfError: false, falls: [] };
    const seen = { notBefore: Number.NEGATIVE_INFINITY, seenFrom: Number.NEGATIVE_INFINITY };
    return checkAnswer(answer, statesOf([text, 0]), { ...granted, ...seen }).verdict;
  });
  expect(verdicts).toEqual(['true', 'lie']);
});
