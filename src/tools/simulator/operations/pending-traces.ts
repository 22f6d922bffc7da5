import type { Account } from '../accounts.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';
import { expandActionTypes, renderTrace } from '../render-trace.ts';
import { accountsIn, renderAddressBook, renderMetadata } from '../render-transaction.ts';
import { changesOf, knownTransactions, type Trace } from '../trace.ts';

/** The traces of the account or, without one, of the external messages; in the chain's order. */
function askedTraces(question: SimulatorQuestion): readonly Trace[] {
  const { chain, instant, droppedAt } = question;
  const account = question.address('account');
  const hashes = question.hashes('ext_msg_hash');
  if (account !== undefined) return chain.pendingTracesOf(account, instant, droppedAt);
  const pending = chain.pendingTraces(instant, droppedAt);
  if (hashes.length > 0) return pending.filter((trace) => hashes.includes(trace.externalHash));
  throw new IndexerRefusal(422, 'account or ext_msg_hash should be specified');
}

function answer(question: SimulatorQuestion): object {
  const { dialect, instant, query, traits } = question;
  const asked = askedTraces(question);
  const version = question.header('X-Actions-Version');
  // An empty header counts as given. Values are not split at commas.
  const actionTypes = expandActionTypes(version === undefined ? query.values('supported_action_types') : [version]);
  const accounts = accountsIn(asked.flatMap((trace) => knownTransactions(trace, instant)));
  // The book and the metadata come from the database, which is only read if there are accounts to look up.
  const rendered = (flag: string, render: (accounts: readonly Account[]) => object) =>
    question.flag(flag) || accounts.length === 0 ? {} : render(question.selectAll(accounts));
  const traces = asked.map((trace) => renderTrace(trace, instant, actionTypes, dialect));
  return {
    traces: traces.length === 0 ? traits.nothingPending : traces,
    address_book: rendered('X-No-Address-Book', renderAddressBook),
    metadata: rendered('X-No-Metadata', renderMetadata),
  };
}

/** The traces that an answer can contain at any time. */
function tracesFor(question: SimulatorQuestion): readonly Trace[] {
  const { chain } = question;
  const address = question.address('account');
  if (address === undefined) return question.hashes('ext_msg_hash').flatMap((hash) => chain.trace(hash) ?? []);
  return chain.recentTraces().filter(({ transactions }) => transactions.some((it) => it.account.address === address));
}

export const pendingTraces = {
  name: 'pendingTraces',
  answer,
  changes: (question) => tracesFor(question).flatMap(changesOf),
} as const satisfies SimulatedOperation;
