/**
 * A guard against hanging: far more than any step of a test takes, also on a machine that is ten times slower. What a
 * test waits for comes as an event; no expectation is about this time.
 */
export const GUARD_MS = 200_000;

/** The same for a whole test, and for a process that a test starts. */
export const TEST_GUARD_MS = 1.5 * GUARD_MS;

/** `UPSTREAM_TIMEOUT`: a busy machine must not look like a slow indexer, whose requests are also hedged. */
export const PATIENT_TIMEOUT = '60s';

/** A busy machine must not look like a failed Redis. */
export const PATIENT_REDIS = { budget: 10_000, connectTimeout: 10_000, commandTimeout: 10_000, failuresToOpen: 1000 };

/** On a busy machine the requests of a test for one key can come more than the default of 1 s apart. */
export const PATIENT_COALESCING = { collapseWindow: 60_000 };

/** The opposite, for tests of the cost of Redis: the defaults. */
export const IMPATIENT_REDIS = { budget: 50, connectTimeout: 1000, commandTimeout: 1000, failuresToOpen: 3 };
