import { isObject } from '../../json-object.ts';
import { outcomeOfStatus } from '../../outcomes.ts';
import { type Asker, UnreachableError } from './asker.ts';
import { listed } from './bodies.ts';

/** The members of a transaction for requests, in canonical form. */
export interface SampledTransaction {
  readonly hash: string;
  readonly account: string;
  /** Of the received message; `undefined` if the chain itself began the transaction. */
  readonly messageHash: string | undefined;
  /** True if another transaction sent the message that started it. */
  readonly hasParent: boolean;
  /** True if it sent messages to other accounts, which start children. */
  readonly hasChildren: boolean;
}

/** The data for the requests of a run. */
export interface ChainSample {
  readonly transactions: readonly SampledTransaction[];
  /** The transaction for all spellings: with a parent, so that there is an answer to compare. */
  readonly chosen: SampledTransaction | undefined;
  /** Seqnos of masterchain blocks, the newest first. */
  readonly seqnos: readonly number[];
}

/** The distance from the newest masterchain block at which most children of a transaction exist. */
const SETTLED_DISTANCE = 7;
const LONGEST_DISTANCE = 2 ** 20;
const TRANSACTIONS_PER_BLOCK = 50;

/** The seqnos of the oldest and the newest masterchain block of the indexer. Throws an {@link UnreachableError}. */
export async function edges(indexer: Asker): Promise<{ readonly first: number; readonly last: number }> {
  const { status, body } = await indexer.ask('masterchainInfo');
  const [first, last] = ['first', 'last'].map((name) => {
    const block = isObject(body) ? body[name] : undefined;
    return isObject(block) ? block['seqno'] : undefined;
  });
  if (status === 200 && typeof first === 'number' && typeof last === 'number') return { first, last };
  const why =
    outcomeOfStatus(status) === 'refused-key' ? 'the API key is refused: check UPSTREAM_API_KEY' : `status ${status}`;
  throw new UnreachableError(`masterchainInfo gave no newest and oldest block (${why})`);
}

/** Finds blocks at growing distances from the newest, and transactions, some with a parent or with children. */
export async function learnChain(indexer: Asker, samples: number): Promise<ChainSample> {
  const { first, last } = await edges(indexer);
  // Masterchain blocks can become visible out of order, so the newest ones may be missing for a moment.
  const seqnos = new Set(Array.from({ length: samples }, (_, n) => Math.max(first, last - 2 - 2 ** n)));
  const informative = (found: readonly SampledTransaction[]) =>
    [found.find((it) => it.hasParent), found.find((it) => it.hasChildren)].filter((it) => it !== undefined);
  const isEnough = (found: readonly SampledTransaction[]) => found.length >= samples && informative(found).length === 2;
  const transactions = await lookBack(indexer, SETTLED_DISTANCE, isEnough);
  const sampled = [...new Set([...informative(transactions), ...transactions])].slice(0, Math.max(samples, 2));
  const chosen = sampled.find(({ hasParent }) => hasParent) ?? sampled[0];
  return { seqnos: [...seqnos], transactions: sampled, chosen };
}

/** Reads transactions of masterchain blocks, the nearest first, and further back until there are enough. */
export async function lookBack(
  indexer: Asker,
  nearest: number,
  isEnough: (found: readonly SampledTransaction[]) => boolean,
): Promise<readonly SampledTransaction[]> {
  const { first, last } = await edges(indexer);
  const transactions: SampledTransaction[] = [];
  for (let distance = nearest; ; distance = 2 * distance + 1) {
    const seqno = Math.max(first, last - distance);
    transactions.push(...(await transactionsOf(indexer, seqno)));
    if (isEnough(transactions) || seqno === first || distance > LONGEST_DISTANCE) return transactions;
  }
}

/** Transactions of a masterchain block, from the indexer itself; empty if its answer has no list. */
async function transactionsOf(indexer: Asker, seqno: number): Promise<SampledTransaction[]> {
  const target = `transactionsByMasterchainBlock?seqno=${seqno}&limit=${TRANSACTIONS_PER_BLOCK}`;
  const { rows } = listed('transactions')((await indexer.ask(target)).body);
  return rows.filter(isObject).map(({ hash, account, in_msg: message, out_msgs: sent }) => ({
    hash: String(hash),
    account: String(account),
    messageHash: isObject(message) ? String(message['hash']) : undefined,
    hasParent: isObject(message) && typeof message['source'] === 'string',
    hasChildren: Array.isArray(sent) && sent.some((it) => isObject(it) && typeof it['destination'] === 'string'),
  }));
}
