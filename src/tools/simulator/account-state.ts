import { IndexerRefusal } from './query.ts';
import type { SimulatorQuestion } from './question.ts';
import { balanceAfter, NO_TRANSACTION } from './render-transaction.ts';
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

/** The members of every state. */
export function renderState(latest: Transaction | undefined): object {
  const { hash, lt } = latest ?? NO_TRANSACTION;
  return {
    balance: latest === undefined ? '0' : balanceAfter(latest),
    last_transaction_lt: String(lt),
    last_transaction_hash: hash,
    status: latest === undefined ? 'uninit' : 'active',
  };
}

/** The commits of all transactions of the account. */
export function changesOfState(question: SimulatorQuestion): readonly number[] {
  const { chain } = question;
  return chain.history(question.address('address') ?? '').map(({ seqno }) => question.committedAt(seqno));
}
