import type { Outcome } from '../admission/outcome.ts';
import type { ProxyError } from '../errors.ts';

/** The outcome of a sent request, by its failure. */
export function outcomeOf({ code, upstreamStatus = 0 }: ProxyError): Outcome {
  switch (code) {
    case 'upstream-unreachable':
      return 'unreachable';
    case 'upstream-rate-limited':
      return 'rate-limited';
    case 'upstream-timeout':
    case 'upstream-invalid':
      return 'failed';
    case 'upstream-error':
      return upstreamStatus >= 500 ? 'failed' : 'answered';
    case 'shutting-down':
    case 'client-left':
      return 'unknown';
    default:
      return 'answered';
  }
}
