import { DIALECTS } from './dialect.ts';
import { type Question, Refusal } from './question.ts';
import { accountsIn, renderAddressBook, renderMetadata } from './render-address-book.ts';
import { expandActionTypes, renderTrace } from './render-trace.ts';
import { knownTransactions, type Trace } from './trace.ts';

function askedTraces(question: Question): readonly Trace[] {
  const { chain, dialect } = question;
  const { manyAccounts } = DIALECTS[dialect];
  const accounts = question.list('account').map((value) => question.canonicalAddress('account', value));
  const hashes = question.list('ext_msg_hash').map((value) => question.canonicalHash('ext_msg_hash', value));
  if (accounts.length === 0 && hashes.length === 0) {
    throw new Refusal(422, 'account or ext_msg_hash should be specified');
  }
  const asked = new Set<Trace>();
  for (const account of manyAccounts ? accounts : accounts.slice(-1)) {
    for (const trace of chain.pendingTracesOf(account)) asked.add(trace);
  }
  if (manyAccounts || accounts.length === 0) {
    for (const trace of chain.pendingTraces()) if (hashes.includes(trace.externalHash)) asked.add(trace);
  }
  // In the chain's order, whatever the order of the parameters: equal states give equal bytes.
  return chain.pendingTraces().filter((trace) => asked.has(trace));
}

function actionTypes(question: Question): readonly string[] | undefined {
  const version = question.setting('X-Actions-Version');
  if (version !== undefined) return expandActionTypes([version]);
  const types = question.list('supported_action_types');
  return types.length === 0 ? undefined : expandActionTypes(types);
}

/** `GET pendingTraces`. `turn` moves the order of the traces on by that many: the real one keeps no order. */
export function answerPendingTraces(question: Question, turn: number): object {
  const asked = askedTraces(question);
  const instant = question.chain.now;
  const view = { dialect: question.dialect, instant, actionTypes: actionTypes(question) };
  const turned = asked.map((_, place) => asked[(place + turn) % asked.length]).filter((trace) => trace !== undefined);
  const accounts = accountsIn(asked.flatMap((trace) => knownTransactions(trace, instant)));
  return {
    traces:
      asked.length === 0 ? DIALECTS[question.dialect].nothingPending : turned.map((trace) => renderTrace(trace, view)),
    address_book: question.flag('X-No-Address-Book') ? {} : renderAddressBook(accounts),
    metadata: question.flag('X-No-Metadata') ? {} : renderMetadata(accounts),
  };
}
