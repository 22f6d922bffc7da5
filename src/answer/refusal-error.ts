import type { EntryRequest, Refusal } from '../admission/guard.ts';
import { isShedIn } from '../admission/lane.ts';
import { failure, overloaded, type ProxyError } from '../errors.ts';
import { notServed } from '../ton/not-served.ts';
import type { OperationName } from '../ton/operation-names.ts';
import type { Report, UpstreamOperation } from './events.ts';

/**
 * The failure of a request that admission does not let pass. Counts all but those of refreshes, and those for what the
 * indexer does not serve: that is no overload.
 */
export type RefusalErrorOf = (request: Pick<EntryRequest, 'operation' | 'lane'>, why: Refusal) => ProxyError;

/** The refusal of a request for which no connection could be opened here. */
export const NO_SOCKETS: Refusal = { reason: 'sockets', retryAfterMs: 0 };

/** Builds {@link RefusalErrorOf}. `random`: 0 to 1. */
export function refusalErrorWith(random: () => number, report: Report): RefusalErrorOf {
  return ({ operation, lane }, { reason, retryAfterMs }) => {
    if (reason === 'abandoned') return failure('client-left', { text: 'nobody' });
    if (reason === 'not-served') return failure('not-served', { values: notServed(operation as OperationName) });
    if (isShedIn(lane)) report({ name: 'shed', operation: operation as UpstreamOperation, reason });
    return overloaded(reason, random(), retryAfterMs);
  };
}
