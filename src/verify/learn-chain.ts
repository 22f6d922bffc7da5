import type { Asker } from './asker.ts';
import { isObject, listIn } from './body-shape.ts';

/** What of a transaction is asked for, in canonical forms. */
export interface SampledTransaction {
  readonly hash: string;
  readonly account: string;
  /** Whether another transaction sent the message that started it. */
  readonly hasParent: boolean;
}

/** What a run looks at. */
export interface ChainSample {
  /** Masterchain rounds, the newest first. */
  readonly seqnos: readonly number[];
  readonly transactions: readonly SampledTransaction[];
}

/** The indexer answers, and not as an indexer does. */
export class NotAnIndexerError extends Error {
  override readonly name = 'NotAnIndexerError';
}

/** Rounds can become visible out of order, so the very newest may be missing for a moment. */
const NEWEST_ROUNDS_LEFT_OUT = 3;

const MOST_ROUNDS_READ = 3;
const TRANSACTIONS_PER_ROUND = 50;

/** The number of the newest block that the indexer has. Throws a {@link NotAnIndexerError}. */
export async function newestSeqno(indexer: Asker): Promise<number> {
  return (await edges(indexer)).last;
}

/**
 * Chooses what to look at, asking the indexer itself: rounds ever further back, and transactions of the older ones.
 * Throws a {@link NotAnIndexerError}.
 */
export async function learnChain(indexer: Asker, samples: number): Promise<ChainSample> {
  const { first, last } = await edges(indexer);
  const newest = last - NEWEST_ROUNDS_LEFT_OUT;
  const seqnos = [...new Set(Array.from({ length: samples }, (_, n) => Math.max(first, newest - 2 ** n + 1)))];
  const transactions: SampledTransaction[] = [];
  for (const seqno of seqnos.toReversed().slice(0, MOST_ROUNDS_READ)) {
    transactions.push(...(await transactionsOf(indexer, seqno)));
    if (transactions.length >= samples) break;
  }
  return { seqnos, transactions: spread(transactions, samples) };
}

async function edges(indexer: Asker): Promise<{ first: number; last: number }> {
  const { status, body } = await indexer.ask('masterchainInfo');
  const seqno = (name: string) => {
    const block = isObject(body) ? body[name] : undefined;
    return isObject(block) && typeof block['seqno'] === 'number' ? block['seqno'] : undefined;
  };
  const [first, last] = [seqno('first'), seqno('last')];
  if (status === 200 && first !== undefined && last !== undefined) return { first, last };
  const why = status === 401 || status === 403 ? 'the API key is refused: check UPSTREAM_API_KEY' : `status ${status}`;
  throw new NotAnIndexerError(`masterchainInfo gave no newest and oldest block (${why})`);
}

/** Transactions of a round, from the indexer itself; none where it does not tell. */
export async function transactionsOf(indexer: Asker, seqno: number): Promise<SampledTransaction[]> {
  const target = `transactionsByMasterchainBlock?seqno=${seqno}&limit=${TRANSACTIONS_PER_ROUND}`;
  const { rows, problems } = listIn('adjacentTransactions', (await indexer.ask(target)).body);
  if (problems.length > 0) return [];
  return rows.filter(isObject).map(({ hash, account, in_msg: message }) => ({
    hash: String(hash),
    account: String(account),
    hasParent: isObject(message) && typeof message['source'] === 'string',
  }));
}

/** That many of a list, evenly. */
function spread<T>(list: readonly T[], count: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step)).slice(0, count);
}
