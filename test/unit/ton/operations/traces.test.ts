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

/** A complete trace of two transactions in the indexer's form, with the changes of a test. */
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

const FINAL = { rule: 'byHashFinal' };
const GROWING = { rule: 'byHashGrowing', newestNow: END };
const LIVE = { rule: 'byHashLive' };

describe('a complete trace', () => {
  test.each([`tx_hash=${ROOT}`, `tx_hash=${CHILD}`, `trace_id=${ROOT}`, `msg_hash=${INTERNAL}`])(
    'is final if it is requested by %s',
    (query) => expect(rated(query, [aTrace()])).toEqual(FINAL),
  );

  test.each([
    ['the hash of an external message', EXTERNAL],
    ['the normalized hash of an external message', NORMALIZED],
    ['the hash of a message that is not in it', hashOf(9)],
  ])('is growing if it is requested by %s, because an external message can be accepted again', (_, hash) => {
    expect(rated(`msg_hash=${hash}`, [aTrace()])).toEqual(GROWING);
  });

  test('is live if another trace was requested', () => {
    expect(rated(`tx_hash=${hashOf(9)}`, [aTrace()])).toEqual(LIVE);
    expect(rated(`trace_id=${CHILD}`, [aTrace()])).toEqual(LIVE);
  });

  test('is live next to another trace, unless both are complete and were requested by their external message', () => {
    const again = aTrace({ trace_id: CHILD, end_utime: END + 5 });
    expect(rated(`tx_hash=${ROOT}`, [aTrace(), again])).toEqual(LIVE);
    expect(rated(`msg_hash=${INTERNAL}`, [aTrace(), again])).toEqual(LIVE);
    expect(rated(`msg_hash=${EXTERNAL}`, [aTrace(), again])).toEqual({ ...GROWING, newestNow: END + 5 });
    expect(rated(`msg_hash=${EXTERNAL}`, [aTrace(), aTrace({ transactions_order: [] })])).toEqual(LIVE);
  });

  test('with a row that lacks the account state before it is final, but growing while the row is young', () => {
    const lacking = { ...row(CHILD, internal, []), account_state_before: { hash: 'x', balance: null } };
    const transactions = { [ROOT]: row(ROOT, external, [internal]), [CHILD]: lacking };
    const expected = { ...FINAL, whileYoung: 'byHashGrowing', newestNow: END };
    expect(rated(`tx_hash=${ROOT}`, [aTrace({ transactions })])).toEqual(expected);
  });
});

describe('a trace is live while it is incomplete:', () => {
  const { [ROOT]: root } = aTrace()['transactions'] as Record<string, object>;
  test.each<[string, JsonObject]>([
    ['a transaction is missing without a warning', { transactions: { [ROOT]: root }, transactions_order: [ROOT] }],
    ['a transaction is missing from the order', { transactions_order: [ROOT] }],
    ['it has no order', { transactions_order: undefined }],
    ['the indexer warns of a missing node', { warning: 'missing node in trace found' }],
    ['it has no tree', { trace: null }],
    ['it is marked as incomplete', { is_incomplete: true }],
    [
      'it is too large for its transactions to be shown',
      { is_incomplete: true, transactions: undefined, warning: 'trace is too large' },
    ],
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

  test('is final with actions, and growing without them', () => {
    expect(rated(query, [aTrace({ actions: [{ action_id: 'x' }] })])).toEqual(FINAL);
    for (const actions of [[], null, undefined]) expect(rated(query, [aTrace({ actions })])).toEqual(GROWING);
  });

  test('is final without actions if it is a single tick-tock transaction', () => {
    const tick = (type: string) => ({
      trace_info: { trace_state: 'complete', transactions: 1, pending_messages: 0 },
      transactions_order: [ROOT],
      transactions: { [ROOT]: { ...row(ROOT, null, []), description: { type } } },
      actions: [],
    });
    expect(rated(query, [aTrace(tick('tick_tock'))])).toEqual(FINAL);
    expect(rated(query, [aTrace(tick('ord'))])).toEqual(GROWING);
  });

  test('is growing without actions if its tick-tock transaction has children', () => {
    const root = { ...row(ROOT, null, [internal]), description: { type: 'tick_tock' } };
    const transactions = { [ROOT]: root, [CHILD]: row(CHILD, internal, []) };
    expect(rated(query, [aTrace({ transactions, actions: [] })])).toEqual(GROWING);
  });
});

test('an empty list of traces is absent and not kept', () => {
  expect(rated(`tx_hash=${ROOT}`, [])).toEqual({ rule: 'notKept' });
});

describe('completeness', () => {
  const completenessOf = (query: string, trace: JsonObject) => {
    const call = callOf('traces', query);
    const finality = finalityOf(call, 200, { traces: [trace] });
    if (finality === undefined) throw new Error('no answer');
    return call.operation.completeness(finality, { traces: [trace] }, call.request);
  };

  test('lists the transactions of a trace that is not final', () => {
    const { hashes, rank } = completenessOf(`msg_hash=${EXTERNAL}`, aTrace());
    expect([hashes, rank]).toEqual([[ROOT, CHILD], 2]);
    const part = aTrace({ transactions: { [ROOT]: row(ROOT, external, [internal]) } });
    expect(completenessOf(`tx_hash=${ROOT}`, part)).toMatchObject({ hashes: [ROOT], rank: 1 });
  });

  test('of a growing trace is higher with actions than without', () => {
    const query = `msg_hash=${EXTERNAL}&include_actions=true`;
    expect(completenessOf(query, aTrace({ actions: [] })).rank).toBe(2);
    expect(completenessOf(query, aTrace({ actions: [{}] })).rank).toBe(3);
  });

  test('of a final trace is rank 3 with and without actions, because higher ranks are those of heads', () => {
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

  test('has one hash in any spelling, which is also its purge tag', () => {
    expect(sent(`TX_HASH=0x${'01'.repeat(32)}&_=1&offset=0`)).toEqual({ query: [['tx_hash', ROOT]], headers: [] });
    expect(callOf('traces', `msg_hash=${'01'.repeat(32)}`).tags).toEqual([`hash:${ROOT}`]);
  });

  test('contains action types only if actions are requested', () => {
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
    ['tx_hash=abc', 'an invalid hash'],
    [`tx_hash[0]=${ROOT}`, 'a parameter that the indexer ignores'],
    [`tx_hash=${ROOT}&account=0:${'A'.repeat(64)}`, 'another filter'],
    [`tx_hash=${ROOT}&start_utime=1`, 'another filter'],
    [`tx_hash=${ROOT}&offset=1`, 'a second page'],
    [`tx_hash=${ROOT}&include_actions=yes`, 'an invalid flag'],
    [`tx_hash=${ROOT}&sort=`, 'an empty order'],
  ])('does not cover %s: %s', (query) => {
    expect(() => sent(query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
  });
});
