/** RFC 9111 1.2.2: a greater number of seconds stands for this one. */
const GREATEST_SECONDS = 2 ** 31;

/**
 * The time for which caches on the way have had an answer, in whole seconds: its `Age`. The first of several values
 * counts, and a value that is not a number is ignored (RFC 9111 5.1). 0 without one.
 */
export function ageValueSeconds(header: string | undefined): number {
  return Math.min(secondsIn(header) ?? 0, GREATEST_SECONDS);
}

/** True if caches on the way may have had an answer: for up to a second longer than its `Age`, which is rounded down. */
export function isAged(header: string | undefined): boolean {
  return secondsIn(header) !== undefined;
}

function secondsIn(header: string | undefined): number | undefined {
  const [first = ''] = (header ?? '').split(',', 1);
  const text = first.trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
