/** RFC 9111 1.2.2: a greater number of seconds stands for this one. */
const GREATEST_SECONDS = 2 ** 31;

/**
 * The time for which caches on the way have had an answer, in whole seconds: its `Age`. The first of several values
 * counts, and a value that is not a number is ignored (RFC 9111 5.1). 0 without one.
 */
export function ageValueSeconds(header: string | undefined): number {
  const [first = ''] = (header ?? '').split(',', 1);
  const text = first.trim();
  return /^\d+$/.test(text) ? Math.min(Number(text), GREATEST_SECONDS) : 0;
}
