/** The formula of `DrainRate`, looked up in a plain list of starts; starts per millisecond. */
export function drainRateOf(
  starts: readonly number[],
  { beganAt, now, patienceMs }: { beganAt: number; now: number; patienceMs: number },
): number | undefined {
  const ageMs = now - beganAt;
  const sixteenthNewest = starts.at(-16);
  if (sixteenthNewest === undefined) return ageMs >= patienceMs ? starts.length / ageMs : undefined;
  if (now - (starts[0] ?? now) < 100) return undefined;
  const inWindow = starts.filter((at, index) => at >= now - 1000 || index >= starts.length - 16);
  return inWindow.length / (now - Math.max(beganAt, Math.min(now - 1000, sixteenthNewest)));
}
