/** An instant in milliseconds since 1970, by the clock that `clock.ts` keeps unless it says otherwise. */
export type EpochMs = number;

/** A duration in milliseconds. */
export type Ms = number;
