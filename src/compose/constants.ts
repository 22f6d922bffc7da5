import { MINIMUM_THROUGHPUT, OPEN_DURATION_MS } from '../admission/operation-breakers.ts';
import { FAILURE_TTL_MS } from '../answer/load-entry.ts';
import { COLLAPSE_WINDOW_MS } from '../once/single-flight.ts';

/** The constants of components that tests replace, in groups like those of settings: milliseconds and bytes. */
export const CONSTANTS = {
  breaker: { minimumThroughput: MINIMUM_THROUGHPUT, openDuration: OPEN_DURATION_MS },
  coalescing: { collapseWindow: COLLAPSE_WINDOW_MS, failureTtl: FAILURE_TTL_MS },
};

export type Constants = Readonly<typeof CONSTANTS>;
