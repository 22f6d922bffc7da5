/** An invalidated trace disappears from the answers within this time, in milliseconds, and no further event says so. */
const LEAVES_WITHIN_MS = 10_000;

/** The most traces that are remembered: several times those of a second of the busiest chain. */
const MOST_TRACES = 10_000;

/**
 * The latest event of each trace. The number of traces is bounded. A trace that is not known may be a forgotten one, and
 * counts as having had its latest event when the last forgotten one had.
 */
export class TraceEvents {
  /** By normalized hash, the least recently named first. */
  readonly #byTrace = new Map<string, { readonly tick: number; readonly leavesUntil: number }>();
  #forgottenTick = 0;

  /** Notes an event of a trace. `now` in monotonic ms. */
  note(trace: string, tick: number, now: number, isInvalidation: boolean): void {
    const leavesUntil = isInvalidation ? now + LEAVES_WITHIN_MS : (this.#byTrace.get(trace)?.leavesUntil ?? 0);
    this.#byTrace.delete(trace);
    this.#byTrace.set(trace, { tick, leavesUntil });
    for (const [oldest, { tick: forgotten }] of this.#byTrace) {
      if (this.#byTrace.size <= MOST_TRACES) break;
      this.#byTrace.delete(oldest);
      this.#forgottenTick = forgotten;
    }
  }

  /** The tick of the latest event of any of these traces. */
  latestOf(traces: readonly string[]): number {
    return Math.max(0, ...traces.map((trace) => this.#byTrace.get(trace)?.tick ?? this.#forgottenTick));
  }

  /** Whether one of these traces was invalidated in the last 10 s and will disappear unsaid. `now` in monotonic ms. */
  isLeaving(traces: readonly string[], now: number): boolean {
    return traces.some((trace) => (this.#byTrace.get(trace)?.leavesUntil ?? 0) > now);
  }
}
