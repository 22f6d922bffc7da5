import type { Outcome } from '../admission/outcome.ts';
import type { ProxyError } from '../errors.ts';

/** The outcome of a sent request, by its failure. */
export function outcomeOf({ code, upstreamStatus = 0 }: ProxyError): Outcome {
  switch (code) {
    case 'upstream-timeout':
      return 'timeout';
    case 'upstream-unreachable':
      return 'unreachable';
    case 'upstream-rate-limited':
      return 'rate-limited';
    case 'upstream-invalid':
      return 'server-error';
    case 'upstream-error':
      return upstreamStatus >= 500 ? 'server-error' : 'client-error';
    case 'shutting-down':
    case 'client-left':
      return 'abandoned';
    default:
      return 'client-error';
  }
}
