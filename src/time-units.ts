/** An instant in milliseconds since 1970, by the clock in `clock.ts` unless stated otherwise. */
export type EpochMs = number;

/** An instant of the monotonic clock of this process, in milliseconds: comparable only within this process. */
export type MonotonicMs = number;

/** A duration in milliseconds. */
export type Ms = number;
