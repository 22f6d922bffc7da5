import type { EntryRequest, Refusal } from '../admission/guard.ts';
import { failure, overloaded, type ProxyError } from '../errors.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import { notServed } from '../ton/not-served.ts';
import type { OperationName } from '../ton/operation-names.ts';

/** The operations that clients request from the indexer: the cached ones, and pass-through as one. */
export type UpstreamOperation = OperationName | 'passthrough';

/** The event of a load that was not sent. */
export interface LoadRefused {
  readonly name: 'load-refused';
  readonly operation: UpstreamOperation;
  readonly reason: RefusedReason;
}

/** The failure of a request that admission refuses. */
export type RefusalErrorOf = (request: Pick<EntryRequest, 'operation'>, why: Refusal) => ProxyError;

/** The refusal of a request for which no connection could be opened here. */
export const NO_SOCKETS: Refusal = { reason: 'sockets', retryAfterMs: 0 };

/** Builds {@link RefusalErrorOf}. `random`: 0 to 1. */
export function refusalErrorWith(random: () => number): RefusalErrorOf {
  return ({ operation }, { reason, retryAfterMs }) => {
    if (reason === 'abandoned') return failure('client-closed-request', { text: 'nobody' });
    if (reason === 'not-served') return failure('not-served', { values: notServed(operation as OperationName) });
    return overloaded(reason, random(), retryAfterMs);
  };
}

/**
 * Counts a load as refused if it failed with a refusal: then no request was sent. Call once, with the failure that ends
 * the load. A refresh is not counted: it never waits, and clients have an answer.
 */
export function reportRefused(
  { operation, waits }: Pick<EntryRequest, 'operation' | 'waits'>,
  { code, details: { reason } }: ProxyError,
  report: (event: LoadRefused) => void,
): void {
  if (code !== 'overloaded' || reason === undefined || !waits) return;
  report({ name: 'load-refused', operation: operation as UpstreamOperation, reason });
}
