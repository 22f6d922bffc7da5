import type { Ms } from '../time-units.ts';

/** The longest wait that a client is asked for. */
const LONGEST_SECONDS = 3600;

const secondsOf = (waitMs: Ms) => Math.min(Math.ceil(waitMs / 1000), LONGEST_SECONDS);

/**
 * The rules for the number in `Retry-After`, with the names in docs/reference/errors.md. `waitMs`: the known wait, 0 if
 * unknown. `chance`: 0 to 1.
 */
const RULES = {
  none: () => undefined,
  '1 s': () => 1,
  /** For a wait that is always known. */
  'the wait': (waitMs) => secondsOf(waitMs),
  /** At random, so that clients that were refused together do not retry together. */
  'the wait, or 1 to 3 s': (waitMs, chance) => (waitMs > 0 ? secondsOf(waitMs) : 1 + Math.floor(chance * 3)),
  "the indexer's": (waitMs) => (waitMs > 0 ? secondsOf(waitMs) : undefined),
} as const satisfies Record<string, (waitMs: Ms, chance: number) => number | undefined>;

/** How a failure gets its `Retry-After`. */
export type RetryAfterRule = keyof typeof RULES;

/**
 * The one place where the number in `Retry-After` is made: seconds, at most an hour; `undefined` if the header is not
 * sent. `waitMs`: the time after which a retry may succeed; 0 when unknown. `chance`: 0 to 1, drawn at random.
 */
export function retryAfterSeconds(rule: RetryAfterRule, waitMs: Ms, chance: number): number | undefined {
  return RULES[rule](waitMs, chance);
}
