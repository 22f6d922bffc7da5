import type { Asker } from './asker.ts';
import { isObject, listIn } from './bodies.ts';

/** The members of a transaction that are used to ask, in canonical form. */
export interface SampledTransaction {
  readonly hash: string;
  readonly account: string;
  /** Whether another transaction sent the message that started it. */
  readonly hasParent: boolean;
  /** Whether it sent messages to other accounts, which start children. */
  readonly hasChildren: boolean;
}

/** What a run asks for. */
export interface ChainSample {
  /** Seqnos of masterchain blocks, the newest first. */
  readonly seqnos: readonly number[];
  readonly transactions: readonly SampledTransaction[];
  /** Where transactions were searched, in words. */
  readonly searched: string;
}

/** The server answers, but not as an indexer does. */
export class NotAnIndexerError extends Error {
  override readonly name = 'NotAnIndexerError';
}

/** Masterchain blocks can become visible out of order, so the newest ones may be missing for a moment. */
const NEWEST_BLOCKS_LEFT_OUT = 3;

const TRANSACTIONS_PER_BLOCK = 50;

/**
 * Distances from the newest masterchain block, in the order of the search: first far enough for most children to exist,
 * doubling; then the nearest ones.
 */
const SETTLED_DISTANCES = [...Array.from({ length: 18 }, (_, n) => 2 ** (n + 3) - 1), 3, 1, 0];

/** The newest masterchain blocks, whose accounts are the busiest; then further and further back. */
const BUSY_DISTANCES = Array.from({ length: 10 }, (_, n) => 2 ** n - 1);

/** The seqno of the newest masterchain block that the indexer has. Throws a {@link NotAnIndexerError}. */
export async function newestSeqno(indexer: Asker): Promise<number> {
  return (await edges(indexer)).last;
}

/**
 * Chooses what to ask for, by asking the indexer: masterchain blocks further and further back, and transactions of the
 * older ones, among them one with a parent and one with children if there are any. Throws a {@link NotAnIndexerError}.
 */
export async function learnChain(indexer: Asker, samples: number): Promise<ChainSample> {
  const { first, last } = await edges(indexer);
  const newest = Math.max(first, last - NEWEST_BLOCKS_LEFT_OUT);
  const seqnos = [...new Set(Array.from({ length: samples }, (_, n) => Math.max(first, newest - 2 ** n + 1)))];
  const { transactions, searched } = await lookBack(indexer, { first, newest }, SETTLED_DISTANCES, (found) => {
    return found.length >= samples && found.some(({ hasParent }) => hasParent) && found.some((it) => it.hasChildren);
  });
  const informative = [transactions.find((it) => it.hasParent), transactions.find((it) => it.hasChildren)];
  const chosen = new Set([...informative.filter((it) => it !== undefined), ...spread(transactions, samples)]);
  return { seqnos, transactions: [...chosen].slice(0, Math.max(samples, 2)), searched };
}

/** Accounts that took part in the newest transactions, at most `samples`. Throws a {@link NotAnIndexerError}. */
export async function busyAccounts(
  indexer: Asker,
  samples: number,
): Promise<{ readonly accounts: readonly string[]; readonly searched: string }> {
  const { first, last } = await edges(indexer);
  const accountsOf = (found: readonly SampledTransaction[]) => [...new Set(found.map(({ account }) => account))];
  const { transactions, searched } = await lookBack(indexer, { first, newest: last }, BUSY_DISTANCES, (found) => {
    return accountsOf(found).length >= samples;
  });
  return { accounts: accountsOf(transactions).slice(-samples), searched };
}

/** Reads the transactions of masterchain blocks at these distances before the newest until there are enough. */
async function lookBack(
  indexer: Asker,
  { first, newest }: { readonly first: number; readonly newest: number },
  distances: readonly number[],
  isEnough: (found: readonly SampledTransaction[]) => boolean,
): Promise<{ readonly transactions: readonly SampledTransaction[]; readonly searched: string }> {
  const transactions: SampledTransaction[] = [];
  const seqnos: number[] = [];
  for (const seqno of new Set(distances.map((distance) => Math.max(first, newest - distance)))) {
    seqnos.push(seqno);
    transactions.push(...(await transactionsOf(indexer, seqno)));
    if (isEnough(transactions)) break;
  }
  return {
    transactions,
    searched: `${seqnos.length} masterchain blocks from ${newest} back to ${Math.min(...seqnos)}`,
  };
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

/** Transactions of a masterchain block, from the indexer itself; none if it answers with no list. */
async function transactionsOf(indexer: Asker, seqno: number): Promise<SampledTransaction[]> {
  const target = `transactionsByMasterchainBlock?seqno=${seqno}&limit=${TRANSACTIONS_PER_BLOCK}`;
  const { rows, problems } = listIn('adjacentTransactions', (await indexer.ask(target)).body);
  if (problems.length > 0) return [];
  return rows.filter(isObject).map(({ hash, account, in_msg: message, out_msgs: sent }) => ({
    hash: String(hash),
    account: String(account),
    hasParent: isObject(message) && typeof message['source'] === 'string',
    hasChildren: Array.isArray(sent) && sent.some((it) => isObject(it) && typeof it['destination'] === 'string'),
  }));
}

/** `count` members of a list, evenly spread. */
function spread<T>(list: readonly T[], count: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step)).slice(0, count);
}
