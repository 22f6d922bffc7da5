import { describe, expect, test } from 'vitest';
import { findOperation } from '../../../src/ton/operations.ts';
import { type Call, parseCall } from '../../../src/ton/parse-call.ts';
import { accountsAskedFor, watchableOf } from '../../../src/ton/watchable.ts';
import { answerPendingTraces } from '../../../src/tools/simulator/answer-traces.ts';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../../src/tools/simulator/dialect.ts';
import { Question } from '../../../src/tools/simulator/question.ts';

const START = 1_800_000_000_000;
const A = `0:${'A'.repeat(64)}`;
const HASH = Buffer.alloc(32, 1).toString('base64');

function callFor(query: string, name = 'pendingTraces'): Call {
  const operation = findOperation(`/api/v3/${name}`);
  if (operation === undefined) throw new Error('it is one of them');
  return parseCall(operation, query, {});
}

/** A chain with one emulated trace. */
function world(dialect: Dialect) {
  const chain = new Chain({ startAt: START, messagesPerBlock: 0, lateShare: 0 });
  const trace = chain.trace(chain.send(chain.accounts.wallets[0]));
  if (trace === undefined) throw new Error('it was sent');
  chain.advanceTo(trace.emulatedAt);
  const ask = (query: string) => {
    const request = { method: 'GET', target: `/api/v3/pendingTraces?${query}`, headers: {}, body: Buffer.alloc(0) };
    const body = answerPendingTraces(new Question(request, chain, dialect));
    return watchableOf(callFor(query), JSON.parse(JSON.stringify(body)));
  };
  return { trace, ask };
}

describe.each(['spec', '1.2', '1.3'] as const)('an answer of indexer %s', (dialect) => {
  test('names the accounts of its traces and their normalized hashes', () => {
    const { trace, ask } = world(dialect);
    const accounts = new Set(trace.transactions.map(({ account }) => account.address));
    const found = ask(`account=${trace.transactions[0]?.account.address}`);
    expect(new Set(found?.accounts)).toEqual(accounts);
    expect(found?.traces).toEqual([trace.externalHash]);
  });
});

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

test('the accounts that a call asks for are in their raw form, and none are named beside hashes', () => {
  expect(accountsAskedFor(callFor(`account=${A.toLowerCase()}`))).toEqual([A]);
  expect(accountsAskedFor(callFor(`account=${A}&ext_msg_hash=${encodeURIComponent(HASH)}`))).toEqual([]);
});
