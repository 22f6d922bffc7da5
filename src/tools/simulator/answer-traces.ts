import type { Account } from './accounts.ts';
import { expandActionTypes } from './action-types.ts';
import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';
import { accountsIn, renderAddressBook, renderMetadata } from './render-address-book.ts';
import { renderTrace } from './render-trace.ts';
import { knownTransactions, type Trace } from './trace.ts';

/** Those of the account or, where none is given, of the external messages; in the chain's order. */
function askedTraces(question: Question): readonly Trace[] {
  const { chain } = question;
  const account = question.address('account');
  const hashes = question.hashes('ext_msg_hash');
  if (account !== undefined) return chain.pendingTracesOf(account);
  if (hashes.length > 0) return chain.pendingTraces().filter(({ externalHash }) => hashes.includes(externalHash));
  throw new IndexerRefusal(422, 'account or ext_msg_hash should be specified');
}

function actionTypes(question: Question): readonly string[] {
  const version = question.header('X-Actions-Version');
  // An empty header counts as given. No value is split at its commas.
  const words = version === undefined ? question.query.values('supported_action_types') : [version];
  return expandActionTypes(words);
}

/** `GET pendingTraces`. */
export function answerPendingTraces(question: Question): object {
  const asked = askedTraces(question);
  const instant = question.chain.now;
  const view = { dialect: question.dialect, instant, actionTypes: actionTypes(question) };
  const accounts = accountsIn(asked.flatMap((trace) => knownTransactions(trace, instant)));
  // The book and the metadata are read from the database, which is asked only where there are accounts to look up.
  const rendered = (flag: string, render: (accounts: readonly Account[]) => object) =>
    question.flag(flag) || accounts.length === 0 ? {} : render(question.selectAll(accounts));
  return {
    traces: asked.length === 0 ? question.traits.nothingPending : asked.map((trace) => renderTrace(trace, view)),
    address_book: rendered('X-No-Address-Book', renderAddressBook),
    metadata: rendered('X-No-Metadata', renderMetadata),
  };
}
