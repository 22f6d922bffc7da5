/** After a trace was invalidated it leaves the answers without a further event, within this, in milliseconds. */
const LEAVES_WITHIN_MS = 10_000;

/** The most traces that are remembered: those of a second of the busiest chain, several times over. */
const MOST_TRACES = 10_000;

/** The latest that events said of each trace. Bounded: of what it forgot it takes the latest of that to be true. */
export class TraceEvents {
  /** By normalized hash, the least recently named first. */
  readonly #byTrace = new Map<string, { readonly tick: number; readonly leavesUntil: number }>();
  #forgottenTick = 0;

  /** An event named a trace. `now` in monotonic ms. */
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

  /** The tick of the latest event that named one of these traces. */
  latestOf(traces: readonly string[]): number {
    return Math.max(0, ...traces.map((trace) => this.#byTrace.get(trace)?.tick ?? this.#forgottenTick));
  }

  /** Whether one of these traces was invalidated a moment ago: it leaves without a further event. `now` in monotonic ms. */
  isLeaving(traces: readonly string[], now: number): boolean {
    return traces.some((trace) => (this.#byTrace.get(trace)?.leavesUntil ?? 0) > now);
  }
}
