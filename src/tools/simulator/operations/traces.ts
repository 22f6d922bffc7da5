import type { Account } from '../accounts.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { expandActionTypes, renderActions, renderCommittedTrace } from '../render-trace.ts';
import { accountsIn, renderAddressBook, renderMetadata } from '../render-transaction.ts';
import type { Trace, Transaction } from '../trace.ts';

const FILTERS = ['account', 'trace_id', 'tx_hash', 'msg_hash'] as const;

/**
 * The transactions that match the question's filter. By a hash, they must be committed: for a message, its sender or
 * its receiver. By an account or without a filter, they are those of all recent traces.
 */
function named(question: SimulatorQuestion): readonly Transaction[] {
  const { chain, databaseAt, query } = question;
  const given = FILTERS.filter((name) => query.values(name).length > 0);
  if (given.length > 1) throw new IndexerRefusal(422, `only one of ${FILTERS.join(', ')} should be specified`);
  const address = question.address('account');
  const [name = 'account'] = given;
  const hashes = name === 'account' ? undefined : question.hashFilter(name);
  if (hashes === undefined) {
    const recent = chain.recentTraces().flatMap(({ transactions }) => transactions);
    return address === undefined ? recent : recent.filter(({ account }) => account.address === address);
  }
  if (name === 'msg_hash') {
    const sides = hashes.flatMap((hash) => chain.planned(hash).flatMap(withParent));
    return sides.filter((side) => chain.transaction(side.hash, databaseAt) !== undefined);
  }
  const found = hashes.flatMap((hash) => chain.transaction(hash, databaseAt) ?? []);
  return name === 'tx_hash' ? found : found.filter(({ parent }) => parent === undefined);
}

/** A message also belongs to the trace of its sender, which is that of its receiver. */
function withParent(transaction: Transaction): readonly Transaction[] {
  return transaction.parent === undefined ? [transaction] : [transaction, transaction.parent];
}

function tracesOf(question: SimulatorQuestion): readonly Trace[] {
  const traces = named(question).map((transaction) => question.chain.traceOf(transaction));
  return [...new Map(traces.map((trace) => [trace.id, trace])).values()].filter(({ invalidated }) => !invalidated);
}

/**
 * A trace is written with the masterchain block that ends it, even if earlier blocks are missing; with its first block
 * if the chain lists pending traces.
 */
function committedIn({ transactions }: Trace, { chain, databaseAt }: SimulatorQuestion): readonly Transaction[] {
  const committed = transactions.filter(({ hash }) => chain.transaction(hash, databaseAt) !== undefined);
  const last = Math.max(...transactions.map(({ seqno }) => seqno));
  return chain.listsUnderWay || committed.some(({ seqno }) => seqno === last) ? committed : [];
}

/**
 * The actions of a trace in the database: an empty list before its classification, `undefined` if they are not
 * requested.
 */
function actionsOf(trace: Trace, question: SimulatorQuestion): readonly object[] | undefined {
  const { query, databaseAt, chain } = question;
  if (!question.decodedFlag('include_actions')) return undefined;
  const version = question.header('X-Actions-Version');
  const types = expandActionTypes(version === undefined ? query.values('supported_action_types') : [version]);
  const finalAt = classifiedAt(trace, question);
  if (databaseAt < finalAt) return [];
  const actions = renderActions(trace, Number.POSITIVE_INFINITY, types);
  const isAnew = chain.reclassifiedAt(trace.id) <= databaseAt;
  return isAnew ? actions.map((action) => ({ ...action, success: false })) : actions;
}

function classifiedAt({ transactions, classifierDelayMs }: Trace, question: SimulatorQuestion): number {
  return Math.max(...transactions.map(({ seqno }) => question.committedAt(seqno))) + classifierDelayMs;
}

function answer(question: SimulatorQuestion): object {
  const found = tracesOf(question).filter((trace) => committedIn(trace, question).length > 0);
  const endLt = ({ transactions }: Trace) => transactions.at(-1)?.lt ?? 0;
  const listed = question.sortedPage(question.selectAll(found.toSorted((a, b) => endLt(b) - endLt(a))));
  const traces = listed.map((trace) =>
    renderCommittedTrace(trace, committedIn(trace, question), actionsOf(trace, question), question.dialect),
  );
  const accounts = accountsIn(listed.flatMap((trace) => committedIn(trace, question)));
  const rendered = (flag: string, render: (accounts: readonly Account[]) => object) =>
    question.flag(flag) ? {} : render(accounts);
  return {
    traces,
    address_book: rendered('X-No-Address-Book', renderAddressBook),
    metadata: rendered('X-No-Metadata', renderMetadata),
  };
}

function changes(question: SimulatorQuestion): readonly number[] {
  return tracesOf(question).flatMap((trace) => [
    ...trace.transactions.map(({ seqno }) => question.committedAt(seqno)),
    classifiedAt(trace, question),
    question.chain.reclassifiedAt(trace.id),
  ]);
}

export const traces = { name: 'traces', answer, changes } as const satisfies SimulatedOperation;
