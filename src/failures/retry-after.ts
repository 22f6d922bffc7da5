import type { Ms } from '../time-units.ts';

/** A client is not asked to wait for longer. */
const LONGEST_SECONDS = 3600;

const secondsOf = (waitMs: Ms) => Math.min(Math.ceil(waitMs / 1000), LONGEST_SECONDS);

/**
 * The rules by which the number of `Retry-After` is made, named as docs/incidents.md names them. `waitMs`: the known wait,
 * 0 if none is known. `chance`: 0 to 1.
 */
const RULES = {
  none: () => undefined,
  '1 s': () => 1,
  /** For a wait that is always known. */
  'the wait': (waitMs) => secondsOf(waitMs),
  /** At random, so that clients that were refused together do not come back together. */
  'the wait, or 1 to 3 s': (waitMs, chance) => (waitMs > 0 ? secondsOf(waitMs) : 1 + Math.floor(chance * 3)),
  "the indexer's": (waitMs) => (waitMs > 0 ? secondsOf(waitMs) : undefined),
} as const satisfies Record<string, (waitMs: Ms, chance: number) => number | undefined>;

/** How a failure gets its `Retry-After`. */
export type RetryAfterRule = keyof typeof RULES;

/**
 * The one place where the number of `Retry-After` is made: seconds, an hour at most; `undefined` if the header is not sent.
 * `waitMs`: after so long it may be worth asking again; 0 when that is not known. `chance`: 0 to 1, drawn at random.
 */
export function retryAfterSeconds(rule: RetryAfterRule, waitMs: Ms, chance: number): number | undefined {
  return RULES[rule](waitMs, chance);
}
