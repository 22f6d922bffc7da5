import { MAX_WAITING } from '../admission/admission.ts';
import { MINIMUM_THROUGHPUT, OPEN_DURATION_MS } from '../admission/operation-breakers.ts';
import { FAILURE_TTL_MS } from '../answer/load.ts';
import { MAX_TRANSFERS } from '../config/open-files.ts';
import { MAX_READING_BYTES } from '../http/body-reader.ts';
import { FAILED_MS } from '../once/lease.ts';
import { COLLAPSE_WINDOW_MS } from '../once/single-flight.ts';
import { FAULTS_TO_OPEN, OPEN_MS } from '../redis/breaker.ts';
import { COMMAND_TIMEOUT_MS, CONNECT_TIMEOUT_MS } from '../redis/timeouts.ts';
import { POLICIES } from '../ton/lifetime-table.ts';

/** The constants of components that tests replace, in groups like those of settings: milliseconds and bytes. */
export const CONSTANTS = {
  admission: { maxQueue: MAX_WAITING },
  breaker: { minimumThroughput: MINIMUM_THROUGHPUT, openDuration: OPEN_DURATION_MS },
  coalescing: { collapseWindow: COLLAPSE_WINDOW_MS, failureTtl: FAILURE_TTL_MS, failedLease: FAILED_MS },
  passThrough: { maxTransfers: MAX_TRANSFERS, maxBufferedSize: MAX_READING_BYTES },
  /** The table of lifetimes, whose lifetimes settings replace. */
  rows: POLICIES,
  redis: {
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    failuresToOpen: FAULTS_TO_OPEN,
    openDuration: OPEN_MS,
  },
};

export type Constants = Readonly<typeof CONSTANTS>;
