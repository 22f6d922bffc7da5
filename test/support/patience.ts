/** A busy machine must not look like a failed Redis. */
export const PATIENT_REDIS = { budget: 10_000, connectTimeout: 10_000, commandTimeout: 10_000, failuresToOpen: 1000 };

/** On a busy machine the requests of a test for one key can come more than the default of 1 s apart. */
export const PATIENT_COALESCING = { collapseWindow: 60_000 };

/** The opposite, for tests of the cost of Redis: the defaults. */
export const IMPATIENT_REDIS = { budget: 50, connectTimeout: 1000, commandTimeout: 1000, failuresToOpen: 3 };
