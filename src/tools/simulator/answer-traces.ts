import type { Account } from './accounts.ts';
import { expandActionTypes } from './action-types.ts';
import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';
import { accountsIn, renderAddressBook, renderMetadata } from './render-address-book.ts';
import { renderTrace } from './render-trace.ts';
import { knownTransactions, type Trace } from './trace.ts';

/** The accounts that count: all of them, or the last of several. */
function askedAccounts(question: Question): readonly string[] {
  if (question.traits.manyAccounts) return question.addresses('account');
  const account = question.address('account');
  return account === undefined ? [] : [account];
}

function askedTraces(question: Question): readonly Trace[] {
  const { chain, traits } = question;
  const accounts = askedAccounts(question);
  const hashes = question.hashes('ext_msg_hash');
  if (accounts.length === 0 && hashes.length === 0) {
    throw new IndexerRefusal(422, 'account or ext_msg_hash should be specified');
  }
  const asked = new Set<Trace>();
  for (const account of accounts) {
    for (const trace of chain.pendingTracesOf(account)) asked.add(trace);
  }
  if (traits.manyAccounts || accounts.length === 0) {
    for (const trace of chain.pendingTraces()) {
      if (hashes.includes(trace.externalHash)) asked.add(trace);
    }
  }
  // In the chain's order, whatever the order of the parameters: equal states give equal bytes.
  return chain.pendingTraces().filter((trace) => asked.has(trace));
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
