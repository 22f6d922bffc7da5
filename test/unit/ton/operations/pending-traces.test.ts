import { expect, test } from 'vitest';
import { factsOf } from '../../../../src/answer/body-facts.ts';
import type { Call } from '../../../../src/ton/parse-call.ts';
import { callOf } from '../requests.ts';

const A = `0:${'A'.repeat(64)}`;
const HASH = Buffer.alloc(32, 1).toString('base64');

const callFor = (query: string) => callOf('pendingTraces', query);
const accountsAskedFor = ({ operation, request }: Call) => operation.watching?.accountsIn(request);
const watchableOf = (call: Call, body: unknown) =>
  factsOf(call, 200, Buffer.from(JSON.stringify(body)), true).watchable;

test('of a trace at most 20 accounts are named', () => {
  const rows = Array.from({ length: 30 }, (_, n) => [`t${n}`, { account: `0:${n}`, in_msg: { hash_norm: HASH } }]);
  const body = { traces: [{ trace: { tx_hash: 't0' }, transactions: Object.fromEntries(rows) }] };
  expect(watchableOf(callFor(`account=${A}`), body)?.accounts).toHaveLength(20);
});

test('the normalized hash is taken from an action where the root does not have it', () => {
  const action = { trace_external_hash_norm: HASH };
  const body = { traces: [{ trace: { tx_hash: 't' }, transactions: { t: { account: A } }, actions: [action] }] };
  expect(watchableOf(callFor(`account=${A}`), body)?.traces).toEqual([HASH]);
});

test.each([
  ['no object', 'x'],
  ['a trace without its hash', { traces: [{ trace: { tx_hash: 't' }, transactions: { t: { account: A } } }] }],
  [
    'more than 32 traces',
    { traces: Array.from({ length: 33 }, () => ({ actions: [{ trace_external_hash_norm: HASH }] })) },
  ],
])('%s cannot be watched', (_, body) => {
  expect(watchableOf(callFor(`account=${A}`), body)).toBeUndefined();
});

test('the accounts of a call are in their raw form, and there are none next to hashes', () => {
  expect(accountsAskedFor(callFor(`account=${A.toLowerCase()}`))).toEqual([A]);
  expect(accountsAskedFor(callFor(`account=${A}&ext_msg_hash=${encodeURIComponent(HASH)}`))).toEqual([]);
});
