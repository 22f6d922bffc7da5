import type { Dialect } from './dialect.ts';
import { renderTransaction } from './render-transaction.ts';
import { digest } from './seeded-random.ts';
import { classifiedOf, finalityAt, knownTransactions, leastFinality, type Trace, type Transaction } from './trace.ts';

/** Types of actions that every client can read. */
const FIRST_TYPES = ['ton_transfer', 'jetton_transfer'];

/** Later types, which every large trace has. A client only gets the requested ones. */
const LATER_TYPES = ['contract_call', 'multisig_approve', 'dns_purchase', 'nft_transfer'] as const;

/** Words that stand for several types. */
const SHORTCUTS = new Map<string, readonly string[]>([
  ['v2', ['contract_call', 'multisig_approve']],
  ['v3', LATER_TYPES],
  ['latest', LATER_TYPES],
  ['multisig', ['multisig_approve']],
  ['nft', ['nft_transfer']],
  ['nft.v3', ['nft_transfer', 'dns_purchase']],
  ['dns.v2', ['dns_purchase']],
]);

/** The action types for versions, shortcuts and types. The first two are always included: v1. */
export function expandActionTypes(words: readonly string[]): readonly string[] {
  return [...FIRST_TYPES, ...words.flatMap((word) => SHORTCUTS.get(word) ?? [word])];
}

/** A small trace is one action; a large one contains one of every later type. */
function actionTypesOf(trace: Trace): readonly string[] {
  if (trace.transactions.length <= 2) return ['ton_transfer'];
  return trace.transactions.length === 5 ? ['jetton_transfer'] : LATER_TYPES;
}

/** The actions of a trace at an instant (epoch ms), of the types that the client can read. */
export function renderActions(trace: Trace, instant: number, actionTypes: readonly string[]): object[] {
  const known = knownTransactions(trace, instant);
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) return [];
  const types = actionTypesOf(trace).filter((type) => actionTypes.includes(type));
  return types.map((type) => ({
    trace_id: trace.id,
    action_id: digest(trace.id, 'action', type),
    transactions: known.map(({ hash }) => hash),
    success: true,
    type,
    details: { source: first.account.address, destination: last.account.address, value: '250000000', comment: null },
    trace_external_hash: trace.externalHash,
    finality: leastFinality(known, instant),
  }));
}

function renderNode(transaction: Transaction, known: ReadonlySet<Transaction>): object {
  return {
    tx_hash: transaction.hash,
    in_msg_hash: transaction.messageHash,
    children: transaction.children.filter((child) => known.has(child)).map((child) => renderNode(child, known)),
  };
}

/** A trace in the database at an instant: its commits until then. `actions`: absent if not requested. */
export function renderCommittedTrace(
  trace: Trace,
  committed: readonly Transaction[],
  actions: readonly object[] | undefined,
  dialect: Dialect,
) {
  const { transactions } = trace;
  const [first, last] = [transactions[0], transactions.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a trace has a transaction');
  const known = new Set(committed);
  const hasGap = committed.some(({ parent }) => parent !== undefined && !known.has(parent));
  const byHash = committed.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  return {
    trace_id: trace.id,
    external_hash: trace.externalHash === '' ? null : trace.externalHash,
    mc_seqno_start: String(first.seqno),
    mc_seqno_end: String(last.seqno),
    start_lt: String(first.lt),
    start_utime: first.now,
    end_lt: String(last.lt),
    end_utime: last.now,
    // Missing parts are not shown: these words are constants of the table.
    trace_info: {
      trace_state: 'complete',
      messages: transactions.length,
      transactions: transactions.length,
      pending_messages: 0,
      classification_state: 'unclassified',
    },
    is_incomplete: false,
    ...(hasGap ? { warning: 'missing node in trace found' } : {}),
    ...(actions === undefined ? {} : { actions }),
    trace: known.has(first) ? renderNode(first, known) : null,
    transactions_order: committed.map(({ hash }) => hash),
    transactions: Object.fromEntries(byHash.map((one) => [one.hash, renderTransaction(one, 'finalized', dialect)])),
  };
}

/** A trace in `pendingTraces` at an instant: only the known part. About 4 KB a transaction. */
export function renderTrace(trace: Trace, instant: number, actionTypes: readonly string[], dialect: Dialect) {
  const known = knownTransactions(trace, instant);
  const [root] = known;
  const classified = classifiedOf(trace, instant);
  const byHash = known.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  return {
    trace_id: trace.id,
    external_hash: trace.externalHash,
    is_incomplete: known.some(({ children }) => children.some((child) => !known.includes(child))),
    actions: classified === undefined ? [] : renderActions(trace, classified, actionTypes),
    trace: root === undefined ? null : renderNode(root, new Set(known)),
    transactions_order: known.map(({ hash }) => hash),
    transactions: Object.fromEntries(
      byHash.map((one) => [one.hash, renderTransaction(one, finalityAt(one, instant) ?? 'pending', dialect)]),
    ),
  };
}
