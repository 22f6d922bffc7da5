import { isObject, type JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';

/**
 * How long an answer can stay true. `final`: immutable; `final-page`: immutable rows, but the database chooses which
 * rows a page holds; `growing`: can gain rows, actions or states of accounts; `live`: changes from block to block;
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
  | 'byHashFinal'
  | 'byHashGrowing'
  | 'byHashLive'
  | 'accountLive'
  | 'pendingFinalized'
  | 'pendingLive'
  | 'head'
  | 'empty'
  | 'emptyOfBlock'
  | 'notFound';

/** The rows of the table whose lifetime is a fraction of the age of what an answer holds. */
export type GrowingRule = 'adjacentGrowing' | 'byHashGrowing';

/** How final one answer is, and which of an operation's lifetime rules follows from it. */
export interface Finality<Rule extends LifetimeRule = LifetimeRule> {
  readonly answerClass: AnswerClass;
  /** `notKept`: for those who wait for it alone. */
  readonly rule: Rule | 'notKept';
  /**
   * From when the age of an answer counts, in unix seconds: in a growing one of adjacent transactions the youngest child's
   * `now`. Absent where that is not known: then the answer is as young as can be.
   */
  readonly newestNow?: number;
  /** An answer that is final but for a row that can be filled in while it is young: its rule until then. */
  readonly whileYoung?: Rule & GrowingRule;
}

/** How an operation reads the body of a 200, a JSON object; `undefined` means that it is no answer to the request. */
export type ReadFinality<Rule extends LifetimeRule = LifetimeRule> = (
  body: JsonObject,
  request: CanonicalRequest,
) => Finality<Rule> | undefined;

/** What the finality of an answer to a call depends on. */
interface Classifiable {
  readonly operation: { readonly finality: ReadFinality; readonly keepsNotFound?: false };
  readonly request: CanonicalRequest;
}

/**
 * Reads the finality from the body of an answer, as `parseAnswer` makes it. `undefined` means that the body is no answer
 * to this call and must not be stored.
 */
export function finalityOf({ operation, request }: Classifiable, status: number, body: unknown): Finality | undefined {
  if (!isObject(body)) return undefined;
  if (status === 404) {
    if (!isOwnError(body)) return undefined;
    return { answerClass: 'absent', rule: operation.keepsNotFound === false ? 'notKept' : 'notFound' };
  }
  return operation.finality(body, request);
}

/** Errors of gateways and frameworks have other members, or others beside it: the indexer's own have exactly this one. */
export function isOwnError(body: unknown): boolean {
  return isObject(body) && typeof body['error'] === 'string' && Object.keys(body).length === 1;
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

/** The newest of the times of rows, as a finality names it: nothing where one is not there or no whole number. */
export function newestNowOf(times: readonly unknown[]): Pick<Finality, 'newestNow'> {
  return times.every(Number.isSafeInteger) ? { newestNow: Math.max(...times.map(Number)) } : {};
}
