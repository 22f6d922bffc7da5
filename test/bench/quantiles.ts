/** Reads quantiles of these values: the one below which a share of them lies, 0 to 1; `undefined` when there are none. */
export function quantilesOf(values: readonly number[]): (share: number) => number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return (share) => sorted[Math.floor(share * (sorted.length - 1))];
}
