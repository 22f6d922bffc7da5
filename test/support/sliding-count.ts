/** The maximum number of instants in any stretch of `windowMs`; its end belongs to the next one. */
export function mostWithin(instants: readonly number[], windowMs: number): number {
  const sorted = instants.toSorted((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [index, at] of sorted.entries()) {
    while (at - (sorted[first] ?? at) >= windowMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** Milliseconds between each instant and the next. */
export function gaps(instants: readonly number[]): number[] {
  return instants.slice(1).map((at, index) => at - (instants[index] ?? at));
}
