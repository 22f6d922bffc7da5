/**
 * A quantile (0 to 1) of times in buckets of these bounds, in seconds, linear within a bucket as in Prometheus;
 * `undefined` without any. `atOnce`: the number of additional times of 0.
 */
export function quantileOf(
  times: readonly number[],
  bounds: readonly number[],
  part: number,
  atOnce = 0,
): number | undefined {
  const rank = part * (times.reduce((sum, count) => sum + count, 0) + atOnce);
  if (rank <= 0) return undefined;
  let below = atOnce;
  if (rank <= below) return 0;
  for (const [index, count] of times.entries()) {
    const from = bounds[index - 1] ?? 0;
    const to = bounds[index] ?? from;
    if (below + count >= rank) return from + ((to - from) * (rank - below)) / count;
    below += count;
  }
  return undefined;
}
