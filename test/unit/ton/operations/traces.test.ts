import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/json-object.ts';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { callOf, requestOf } from '../requests.ts';

const hashOf = (n: number) => Buffer.alloc(32, n).toString('base64');
const [ROOT, CHILD, EXTERNAL, INTERNAL, NORMALIZED] = [1, 2, 3, 4, 5].map(hashOf) as [
  string,
  string,
  string,
  string,
  string,
];
const END = 1_760_000_000;

const external = { hash: EXTERNAL, hash_norm: NORMALIZED, source: null, destination: '0:A', created_lt: null };
const internal = { hash: INTERNAL, source: '0:A', destination: '0:B', created_lt: '7' };

function row(hash: string, inMsg: object | null, outMsgs: readonly object[]) {
  const sure = { emulated: false, finality: 'finalized', mc_block_seqno: 7, now: END };
  return { hash, ...sure, description: { type: 'ord' }, in_msg: inMsg, out_msgs: outMsgs };
}

/** A trace of two transactions in the indexer's form, with what a test changes. */
function aTrace(changed: JsonObject = {}): JsonObject {
  return {
    trace_id: ROOT,
    external_hash: EXTERNAL,
    end_utime: END,
    trace_info: { trace_state: 'complete', messages: 2, transactions: 2, pending_messages: 0 },
    is_incomplete: false,
    trace: { tx_hash: ROOT, children: [{ tx_hash: CHILD, children: [] }] },
    transactions_order: [ROOT, CHILD],
    transactions: { [ROOT]: row(ROOT, external, [internal]), [CHILD]: row(CHILD, internal, []) },
    ...changed,
  };
}

function rated(query: string, traces: readonly unknown[]) {
  return finalityOf(callOf('traces', query.replaceAll('+', '%2B')), 200, { traces });
}

const FINAL = { answerClass: 'final', rule: 'byHashFinal' };
const GROWING = { answerClass: 'growing', rule: 'byHashGrowing', newestNow: END };
const LIVE = { answerClass: 'live', rule: 'byHashLive' };

describe('a whole trace', () => {
  test.each([`tx_hash=${ROOT}`, `tx_hash=${CHILD}`, `trace_id=${ROOT}`, `msg_hash=${INTERNAL}`])(
    'is final by %s',
    (query) => expect(rated(query, [aTrace()])).toEqual(FINAL),
  );

  test.each([
    ['as it was sent', EXTERNAL],
    ['as it is normalized', NORMALIZED],
    ['that is not in it', hashOf(9)],
  ])('is growing by an external message %s: it can be accepted again', (_, hash) => {
    expect(rated(`msg_hash=${hash}`, [aTrace()])).toEqual(GROWING);
  });

  test('is live if another one was requested', () => {
    expect(rated(`tx_hash=${hashOf(9)}`, [aTrace()])).toEqual(LIVE);
    expect(rated(`trace_id=${CHILD}`, [aTrace()])).toEqual(LIVE);
  });

  test('is live next to another one, unless an external message was accepted twice', () => {
    const again = aTrace({ trace_id: CHILD, end_utime: END + 5 });
    expect(rated(`tx_hash=${ROOT}`, [aTrace(), again])).toEqual(LIVE);
    expect(rated(`msg_hash=${INTERNAL}`, [aTrace(), again])).toEqual(LIVE);
    expect(rated(`msg_hash=${EXTERNAL}`, [aTrace(), again])).toEqual({ ...GROWING, newestNow: END + 5 });
    expect(rated(`msg_hash=${EXTERNAL}`, [aTrace(), aTrace({ transactions_order: [] })])).toEqual(LIVE);
  });

  test('whose row lacks the state before it is final unless it is young', () => {
    const lacking = { ...row(CHILD, internal, []), account_state_before: { hash: 'x', balance: null } };
    const transactions = { [ROOT]: row(ROOT, external, [internal]), [CHILD]: lacking };
    const expected = { ...FINAL, whileYoung: 'byHashGrowing', newestNow: END };
    expect(rated(`tx_hash=${ROOT}`, [aTrace({ transactions })])).toEqual(expected);
  });
});

describe('a trace is live while it is not whole:', () => {
  const { [ROOT]: root } = aTrace()['transactions'] as Record<string, object>;
  test.each<[string, JsonObject]>([
    ['a transaction is missing, and nothing says so', { transactions: { [ROOT]: root }, transactions_order: [ROOT] }],
    ['a transaction is missing from the order', { transactions_order: [ROOT] }],
    ['it has no order', { transactions_order: undefined }],
    ['the root is missing', { warning: 'missing node in trace found' }],
    ['it has no tree', { trace: null }],
    ['it is called incomplete', { is_incomplete: true }],
    ['it is too large to be shown', { is_incomplete: true, transactions: undefined, warning: 'trace is too large' }],
    ['it is pending', { trace_info: { trace_state: 'pending', transactions: 2, pending_messages: 0 } }],
    ['a message is pending', { trace_info: { trace_state: 'complete', transactions: 2, pending_messages: 1 } }],
    ['a transaction is emulated', { transactions: { [ROOT]: root, [CHILD]: { ...root, emulated: true } } }],
  ])('%s', (_, changed) => expect(rated(`tx_hash=${ROOT}`, [aTrace(changed)])).toEqual(LIVE));

  test('it has no transactions', () => {
    const info = { trace_state: 'complete', transactions: 0, pending_messages: 0 };
    const none = aTrace({ transactions: {}, transactions_order: [], trace_info: info });
    expect(rated(`trace_id=${ROOT}`, [none])).toEqual(LIVE);
  });
});

describe('a trace that is requested with actions', () => {
  const query = `tx_hash=${ROOT}&include_actions=true`;

  test('is final with some, and growing without', () => {
    expect(rated(query, [aTrace({ actions: [{ action_id: 'x' }] })])).toEqual(FINAL);
    for (const actions of [[], null, undefined]) expect(rated(query, [aTrace({ actions })])).toEqual(GROWING);
  });

  test('of one tick-tock transaction has none', () => {
    const tick = (type: string) => ({
      trace_info: { trace_state: 'complete', transactions: 1, pending_messages: 0 },
      transactions_order: [ROOT],
      transactions: { [ROOT]: { ...row(ROOT, null, []), description: { type } } },
      actions: [],
    });
    expect(rated(query, [aTrace(tick('tick_tock'))])).toEqual(FINAL);
    expect(rated(query, [aTrace(tick('ord'))])).toEqual(GROWING);
  });

  test('has some where a tick-tock transaction has children', () => {
    const root = { ...row(ROOT, null, [internal]), description: { type: 'tick_tock' } };
    const transactions = { [ROOT]: root, [CHILD]: row(CHILD, internal, []) };
    expect(rated(query, [aTrace({ transactions, actions: [] })])).toEqual(GROWING);
  });
});

test('no trace is not kept', () => {
  expect(rated(`tx_hash=${ROOT}`, [])).toEqual({ answerClass: 'absent', rule: 'notKept' });
});

describe('completeness', () => {
  const completenessOf = (query: string, trace: JsonObject) => {
    const call = callOf('traces', query);
    const finality = finalityOf(call, 200, { traces: [trace] });
    if (finality === undefined) throw new Error('no answer');
    return call.operation.completeness(finality, { traces: [trace] });
  };

  test('lists the transactions of a trace that is not final', () => {
    const { hashes, rank } = completenessOf(`msg_hash=${EXTERNAL}`, aTrace());
    expect([hashes, rank]).toEqual([[ROOT, CHILD], 2]);
    const part = aTrace({ transactions: { [ROOT]: row(ROOT, external, [internal]) } });
    expect(completenessOf(`tx_hash=${ROOT}`, part)).toMatchObject({ hashes: [ROOT], rank: 1 });
  });

  test('is more with actions than without', () => {
    const query = `msg_hash=${EXTERNAL}&include_actions=true`;
    expect(completenessOf(query, aTrace({ actions: [] })).rank).toBe(2);
    expect(completenessOf(query, aTrace({ actions: [{}] })).rank).toBe(3);
  });

  test('of a final trace is that of its class, with actions or without: a higher one is the rank of a head', () => {
    expect(completenessOf(`tx_hash=${ROOT}`, aTrace())).toMatchObject({ rank: 3, hashes: [] });
    const withActions = aTrace({ actions: [{}] });
    expect(completenessOf(`tx_hash=${ROOT}&include_actions=true`, withActions)).toMatchObject({ rank: 3, hashes: [] });
  });
});

test('the chain point is that of the newest transaction', () => {
  const call = callOf('traces', `tx_hash=${ROOT}`.replaceAll('+', '%2B'));
  expect(call.operation.chainPoint({ traces: [aTrace()] })).toEqual({ at: END * 1000, seqno: 7 });
});

describe('the cached form', () => {
  const sent = (query: string, headers = {}) => requestOf('traces', query, headers);

  test('is one hash in any spelling, which a purge can name', () => {
    expect(sent(`TX_HASH=0x${'01'.repeat(32)}&_=1&offset=0`)).toEqual({ query: [['tx_hash', ROOT]], headers: [] });
    expect(callOf('traces', `msg_hash=${'01'.repeat(32)}`).tags).toEqual([`hash:${ROOT}`]);
  });

  test('has the words for actions only with actions', () => {
    const words = 'supported_action_types=v1&supported_action_types=v2';
    expect(sent(`tx_hash=${ROOT}&include_actions=0&${words}`, { 'x-actions-version': 'v1' })).toEqual(
      sent(`tx_hash=${ROOT}`),
    );
    const { query } = sent(`tx_hash=${ROOT}&include_actions=on&${words}`);
    expect(query.map(([, value]) => value)).toEqual([ROOT, 'true', 'v1', 'v2']);
    const { headers } = sent(`tx_hash=${ROOT}&include_actions=1`, { 'x-actions-version': 'v1' });
    expect(headers).toEqual([['X-Actions-Version', 'v1']]);
  });

  test.each([
    ['', 'no hash'],
    ['limit=10', 'no hash'],
    [`tx_hash=${ROOT}&msg_hash=${CHILD}`, 'two ways'],
    [`tx_hash=${ROOT},${CHILD}`, 'two hashes'],
    [`tx_hash=${ROOT}&tx_hash=${CHILD}`, 'two hashes'],
    ['tx_hash=', 'an empty hash'],
    ['tx_hash=abc', 'what is no hash'],
    [`tx_hash[0]=${ROOT}`, 'what the indexer does not read'],
    [`tx_hash=${ROOT}&account=0:${'A'.repeat(64)}`, 'another filter'],
    [`tx_hash=${ROOT}&start_utime=1`, 'another filter'],
    [`tx_hash=${ROOT}&offset=1`, 'a second page'],
    [`tx_hash=${ROOT}&include_actions=yes`, 'a flag that is none'],
    [`tx_hash=${ROOT}&sort=`, 'an empty order'],
  ])('does not cover %s: %s', (query) => {
    expect(() => sent(query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
  });
});
