/** An instant in milliseconds since 1970, by the clock that `clock.ts` keeps unless it says otherwise. */
export type EpochMs = number;

/** An instant of the monotonic clock of this process, in milliseconds: comparable within this process alone. */
export type MonotonicMs = number;

/** A duration in milliseconds. */
export type Ms = number;
