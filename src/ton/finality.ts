import { isObject, type JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';
import type { GrowingRule, LifetimeRule } from './lifetime-table.ts';

/** How final one answer is: its row of the table of lifetimes, and the facts on which its lifetime depends. */
export interface Finality<Rule extends LifetimeRule = LifetimeRule> {
  /** `notKept`: only for the clients that wait for it. */
  readonly rule: Rule | 'notKept';
  /**
   * The instant from which the age of an answer counts, in unix seconds: for growing adjacent transactions the youngest
   * child's `now`. Absent if unknown: then the age is 0.
   */
  readonly newestNow?: number;
  /** Set for an answer that is final except for a row that can be filled in while it is young: its rule until then. */
  readonly whileYoung?: Rule & GrowingRule;
}

/** How an operation reads the body of a 200, a JSON object; `undefined` if it is not an answer to the request. */
export type ReadFinality<Rule extends LifetimeRule = LifetimeRule> = (
  body: JsonObject,
  request: CanonicalRequest,
) => Finality<Rule> | undefined;

/** The parts of a call that the finality of its answers depends on. */
interface Classifiable {
  readonly operation: { readonly finality: ReadFinality; readonly keepsNotFound?: false };
  readonly request: CanonicalRequest;
}

/**
 * Reads the finality from the body of an answer, as `parseAnswer` makes it. `undefined`: the body is not an answer to
 * this call and must not be stored.
 */
export function finalityOf({ operation, request }: Classifiable, status: number, body: unknown): Finality | undefined {
  if (!isObject(body)) return undefined;
  if (status === 404) {
    if (!isOwnError(body)) return undefined;
    return { rule: operation.keepsNotFound === false ? 'notKept' : 'notFound' };
  }
  return operation.finality(body, request);
}

/**
 * True if a parsed body is an error of the API. Errors of gateways and frameworks have other members, or additional ones:
 * the indexer's own have exactly this one.
 */
export function isOwnError(body: unknown): boolean {
  return isObject(body) && typeof body['error'] === 'string' && Object.keys(body).length === 1;
}

/** True if a row is a transaction that can no longer be invalidated. An unknown `finality` word means that it can. */
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

/** The newest of the times of rows, as a finality names it; empty if a time is missing or not a whole number. */
export function newestNowOf(times: readonly unknown[]): Pick<Finality, 'newestNow'> {
  return times.every(Number.isSafeInteger) ? { newestNow: Math.max(...times.map(Number)) } : {};
}
