import { expect, test } from 'vitest';
import { factsOf } from '../../../../src/answer/body-facts.ts';
import type { Call } from '../../../../src/ton/parse-call.ts';
import { callOf } from '../requests.ts';

const A = `0:${'A'.repeat(64)}`;
const HASH = Buffer.alloc(32, 1).toString('base64');

const WATCHING = { isWatching: true, rowsFrom: Number.POSITIVE_INFINITY };

const callFor = (query: string) => callOf('pendingTraces', query);
const accountsAskedFor = ({ operation, request }: Call) => operation.watching?.accountsIn(request);
const watchableOf = (call: Call, body: unknown) =>
  factsOf(call, 200, Buffer.from(JSON.stringify(body)), WATCHING).watchable;

test('at most 20 accounts of a trace are watched', () => {
  const rows = Array.from({ length: 30 }, (_, n) => [`t${n}`, { account: `0:${n}`, in_msg: { hash_norm: HASH } }]);
  const body = { traces: [{ trace: { tx_hash: 't0' }, transactions: Object.fromEntries(rows) }] };
  expect(watchableOf(callFor(`account=${A}`), body)?.accounts).toHaveLength(20);
});

test('the normalized hash comes from an action if the root transaction lacks it', () => {
  const action = { trace_external_hash_norm: HASH };
  const body = { traces: [{ trace: { tx_hash: 't' }, transactions: { t: { account: A } }, actions: [action] }] };
  expect(watchableOf(callFor(`account=${A}`), body)?.traces).toEqual([HASH]);
});

test.each([
  ['a body that is not an object', 'x'],
  [
    'a trace without its normalized hash',
    { traces: [{ trace: { tx_hash: 't' }, transactions: { t: { account: A } } }] },
  ],
  [
    'more than 32 traces',
    { traces: Array.from({ length: 33 }, () => ({ actions: [{ trace_external_hash_norm: HASH }] })) },
  ],
])('%s cannot be watched', (_, body) => {
  expect(watchableOf(callFor(`account=${A}`), body)).toBeUndefined();
});

test('the accounts of a call are watched in their raw form, but not if the call also contains hashes', () => {
  expect(accountsAskedFor(callFor(`account=${A.toLowerCase()}`))).toEqual([A]);
  expect(accountsAskedFor(callFor(`account=${A}&ext_msg_hash=${encodeURIComponent(HASH)}`))).toEqual([]);
});
