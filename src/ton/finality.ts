import { isObject, type JsonObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import type { Call } from './parse-call.ts';

/**
 * How long an answer can stay true. `final`: immutable; `final-page`: immutable rows, but the database chooses which
 * rows a page holds; `growing`: adjacent transactions that can gain children; `live`: changes from block to block;
 * `absent`: there is nothing yet.
 */
export type AnswerClass = 'final' | 'final-page' | 'growing' | 'live' | 'absent';

/** The row of the table of lifetimes that an answer falls under. */
export type LifetimeRule =
  | 'shardsFinal'
  | 'shardsFinalPage'
  | 'shardsLive'
  | 'adjacentFinal'
  | 'adjacentGrowing'
  | 'adjacentLive'
  | 'pendingFinalized'
  | 'pendingLive'
  | 'empty'
  | 'notFound';

/** How final one answer is, and the lifetime rule that follows from it. */
export interface Finality {
  readonly answerClass: AnswerClass;
  readonly rule: LifetimeRule;
  /** The youngest child's `now` in a growing answer, in unix seconds; absent where no row is known to be a child. */
  readonly newestNow?: number;
}

/**
 * Reads the finality from the body of an answer, as `parseAnswer` makes it. `undefined` means that the body is no answer
 * to this call and must not be stored.
 */
export function finalityOf(call: Call, status: number, body: unknown): Finality | undefined {
  if (!isObject(body)) return undefined;
  if (status === 404) {
    return isOwnError(body) ? { answerClass: 'absent', rule: 'notFound' } : undefined;
  }
  const name = call.operation.lists.find((list) => list in body);
  const list = name === undefined ? undefined : body[name];
  if (list === null || (Array.isArray(list) && list.length === 0)) return { answerClass: 'absent', rule: 'empty' };
  if (!Array.isArray(list)) return undefined;
  switch (call.operation.name) {
    case 'masterchainBlockShards':
      return (name === 'blocks' ? finalityOfBlocks : finalityOfBlockTransactions)(list, call.request);
    case 'adjacentTransactions':
      return finalityOfAdjacent(list, call.request);
    case 'pendingTraces':
      return finalityOfTraces(list);
  }
}

/** The 404s of gateways and frameworks have other members, or others beside it: the indexer's own has exactly this one. */
function isOwnError(body: JsonObject): boolean {
  return typeof body['error'] === 'string' && Object.keys(body).length === 1;
}

/**
 * The indexer commits a masterchain block with its shard blocks in one database transaction, so a list that holds the
 * masterchain block N itself and was not cut by a page is complete. A cut list may hold that block too, since the query
 * has no ORDER BY.
 */
function finalityOfBlocks(blocks: readonly unknown[], request: CanonicalRequest): Finality {
  const seqno = Number(parameterOf(request, 'seqno'));
  const isFirstPage = Number(parameterOf(request, 'offset') ?? 0) === 0;
  const isMasterchainBlock = (block: unknown) =>
    isObject(block) && block['workchain'] === -1 && block['seqno'] === seqno;
  if (isFirstPage && isShort(blocks, request) && blocks.some(isMasterchainBlock)) {
    return { answerClass: 'final', rule: 'shardsFinal' };
  }
  const isOfBlock = (block: unknown) =>
    isMasterchainBlock(block) ||
    (isObject(block) && isObject(block['masterchain_block_ref']) && block['masterchain_block_ref']['seqno'] === seqno);
  return (!isFirstPage || isFull(blocks, request)) && blocks.every(isOfBlock)
    ? { answerClass: 'final-page', rule: 'shardsFinalPage' }
    : { answerClass: 'live', rule: 'shardsLive' };
}

/**
 * The shape that the API's specification gives the same operation: the transactions of masterchain block N. Nothing in
 * it proves that no row is missing (`limit`, `offset` or a failing database may cut it), so it is at most a final page.
 */
function finalityOfBlockTransactions(transactions: readonly unknown[], request: CanonicalRequest): Finality {
  const seqno = Number(parameterOf(request, 'seqno'));
  return transactions.every((row) => isFinal(row) && row['mc_block_seqno'] === seqno)
    ? { answerClass: 'final-page', rule: 'shardsFinalPage' }
    : { answerClass: 'live', rule: 'shardsLive' };
}

/** A transaction has at most one parent, so one final row answers `in` for ever. Children can always be added. */
function finalityOfAdjacent(transactions: readonly unknown[], request: CanonicalRequest): Finality {
  if (parameterOf(request, 'direction') === 'in') {
    return transactions.length === 1 && isFinal(transactions[0])
      ? { answerClass: 'final', rule: 'adjacentFinal' }
      : { answerClass: 'live', rule: 'adjacentLive' };
  }
  let newestNow = Number.NEGATIVE_INFINITY;
  for (const transaction of transactions) {
    const now = isFinal(transaction) ? transaction['now'] : undefined;
    if (typeof now !== 'number' || !Number.isSafeInteger(now)) return { answerClass: 'live', rule: 'adjacentLive' };
    newestNow = Math.max(newestNow, now);
  }
  const growing = { answerClass: 'growing', rule: 'adjacentGrowing' } as const;
  return hasChild(transactions, request) ? { ...growing, newestNow } : growing;
}

/**
 * Whether the youngest of these rows is a child. The one parent is older than all children, so only a single row leaves
 * a doubt: that row is a child if the given transaction is the first of its trace, which has no parent.
 */
function hasChild([first, ...others]: readonly unknown[], request: CanonicalRequest): boolean {
  if (others.length > 0 || parameterOf(request, 'direction') === 'out') return true;
  return isObject(first) && first['trace_id'] === parameterOf(request, 'hash');
}

function finalityOfTraces(traces: readonly unknown[]): Finality {
  const isSettled = (trace: unknown) => {
    if (!isObject(trace) || !isObject(trace['transactions'])) return false;
    const transactions = Object.values(trace['transactions']);
    return transactions.length > 0 && transactions.every(isFinal);
  };
  return { answerClass: 'live', rule: traces.every(isSettled) ? 'pendingFinalized' : 'pendingLive' };
}

/** Whether a row is a transaction that can no longer be invalidated. With an unknown `finality` word it is not. */
export function isFinal(transaction: unknown): transaction is JsonObject {
  if (!isObject(transaction)) return false;
  const { emulated, mc_block_seqno: seqno, finality } = transaction;
  return (
    (emulated === undefined || emulated === false) &&
    // A seqno of 0 stands for "no block yet": masterchain block 0 has no transactions.
    typeof seqno === 'number' &&
    seqno > 0 &&
    // Older indexers send no `finality`.
    (finality === undefined || finality === 'finalized')
  );
}

/** Page sizes that could be the indexer's default: 100 in its code, 10 in its document. */
const POSSIBLE_DEFAULT_LIMITS: readonly number[] = [10, 100];

function isShort(rows: readonly unknown[], request: CanonicalRequest): boolean {
  const limit = parameterOf(request, 'limit');
  return limit === undefined ? !isFull(rows, request) : rows.length < Number(limit);
}

function isFull(rows: readonly unknown[], request: CanonicalRequest): boolean {
  const limit = parameterOf(request, 'limit');
  return limit === undefined ? POSSIBLE_DEFAULT_LIMITS.includes(rows.length) : rows.length === Number(limit);
}

/** How complete an answer is, to compare two answers to one call: what they list counts first, their rank second. */
export interface AnswerCompleteness {
  /** 0 to 3, by the answer's class. */
  readonly rank: number;
  /** Hashes of the final transactions of a list that only ever gains rows; empty for all other answers. */
  readonly hashes: readonly string[];
  /** Hashes of the other transactions of such a list: pending ones can still be invalidated. */
  readonly tentativeHashes: readonly string[];
}

const RANKS: Record<AnswerClass, number> = { absent: 0, live: 1, 'final-page': 2, growing: 2, final: 3 };

/**
 * Ranks an answer by its finality and the parsed body that the finality was read from. All pending traces have rank 0:
 * a trace that has ended leaves the list, so an empty list is not less complete than a full one, and the latest answer
 * is the right one.
 */
export function completenessIn(
  { operation }: Call,
  { answerClass, rule }: Finality,
  body: unknown,
): AnswerCompleteness {
  const rank = operation.name === 'pendingTraces' ? 0 : RANKS[answerClass];
  // A final `direction=in` answer lists its one parent and gains no more rows.
  const gainsRows = rule === 'adjacentGrowing' || rule === 'adjacentLive';
  const rows = gainsRows ? (body as { readonly transactions: readonly unknown[] }).transactions : [];
  return {
    rank,
    hashes: hashesOf(rows.filter(isFinal)),
    tentativeHashes: hashesOf(rows.filter((row) => !isFinal(row))),
  };
}

function hashesOf(rows: readonly unknown[]): string[] {
  return rows.flatMap((row) => (isObject(row) && typeof row['hash'] === 'string' ? [row['hash']] : []));
}
