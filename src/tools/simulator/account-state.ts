import { IndexerRefusal } from './query.ts';
import type { SimulatorQuestion } from './question.ts';
import { balanceAfter, NO_TRANSACTION, statusAfter, walletSeqnoAfter } from './render-transaction.ts';
import type { Transaction } from './trace.ts';

/**
 * The transaction after which the requested account has the state in the database: the latest by logical time, whatever
 * was committed last. `undefined` for an account that is not in the database. Throws an {@link IndexerRefusal}.
 */
export function latestOf(question: SimulatorQuestion): Transaction | undefined {
  const address = question.address('address');
  if (address === undefined) throw new IndexerRefusal(401, 'address of account is required');
  if (question.decodedFlag('use_v2')) throw new IndexerRefusal(500, 'ton-http-api endpoint is not specified');
  return question.selectAll(question.chain.history(address, question.databaseAt)).at(-1);
}

/**
 * The transactions after which the requested accounts have the states in the database, in the order of their last
 * updates; without the accounts that are not in the database. Throws an {@link IndexerRefusal}.
 */
export function latestOfAll(question: SimulatorQuestion): readonly Transaction[] {
  const addresses = question.addressFilter('address');
  if (addresses.length === 0) throw new IndexerRefusal(422, 'address of account is required');
  const latest = [...new Set(addresses)].flatMap(
    (address) => question.chain.history(address, question.databaseAt).at(-1) ?? [],
  );
  return question.selectAll(latest.sort((a, b) => a.lt - b.lt));
}

/** True unless a request omits the code and the data of accounts. */
export function includesBoc(question: SimulatorQuestion): boolean {
  return question.scalar('include_boc') === undefined || question.decodedFlag('include_boc');
}

/** The members of every state. */
export function renderState(latest: Transaction | undefined): object {
  const { hash, lt } = latest ?? NO_TRANSACTION;
  return {
    balance: latest === undefined ? '0' : balanceAfter(latest),
    last_transaction_lt: String(lt),
    last_transaction_hash: hash,
    status: latest === undefined ? 'uninit' : statusAfter(latest),
  };
}

/** The members of the state of a wallet. */
export function walletOf(latest: Transaction): object {
  return { wallet_type: 'wallet v5 r1', seqno: walletSeqnoAfter(latest), wallet_id: 2_147_483_409 };
}

/** The commits of all transactions of the accounts. */
export function changesOfState(question: SimulatorQuestion): readonly number[] {
  const { chain } = question;
  const transactions = question.addressFilter('address').flatMap((address) => chain.history(address));
  return transactions.map(({ seqno }) => question.committedAt(seqno));
}
