import type { EntryRequest } from '../admission/guard.ts';
import type { Refusal } from '../admission/outcome.ts';
import { ProxyError } from '../errors.ts';
import type { Report, UpstreamOperation } from './events.ts';
import { overloaded } from './overloaded.ts';

/** The failure of a request that admission does not let pass, or that nobody waits for. Counts refusals but of refreshes. */
export type Refuse = (
  request: Pick<EntryRequest, 'operation' | 'neverWaits'>,
  why: Refusal | 'abandoned',
) => ProxyError;

/** Builds {@link Refuse}. `random`: 0 to 1. */
export function refuseWith(random: () => number, report: Report): Refuse {
  return ({ operation, neverWaits }, why) => {
    if (why === 'abandoned') return new ProxyError('client-left', 'nobody waits for this answer');
    if (neverWaits !== true) report({ name: 'shed', operation: operation as UpstreamOperation, reason: why.reason });
    return overloaded(random, why);
  };
}
