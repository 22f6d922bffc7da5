/** An instant in milliseconds since 1970, by the clock in `clock.ts` unless stated otherwise. */
export type EpochMs = number;

/** An instant of the monotonic clock of this process, in milliseconds: comparable only within this process. */
export type MonotonicMs = number;

/** A duration in milliseconds. */
export type Ms = number;

/**
 * Units: the milliseconds from which each is used, its length, its name. Days are used only from 48 h on, because a
 * lifetime is called `24 h`.
 */
const UNITS = [
  [172_800_000, 86_400_000, 'd'],
  [3_600_000, 3_600_000, 'h'],
  [60_000, 60_000, 'min'],
  [1000, 1000, 's'],
] as const;

/** Milliseconds for people, in the largest unit that applies, with at most one decimal: `400 ms`, `1.5 s`, `24 h`. */
export function duration(ms: number): string {
  const [, size, unit] = UNITS.find(([least]) => Math.abs(ms) >= least) ?? [0, 1, 'ms'];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}
