/** A request that came back with an answer to learn from: any status below 500 but 429. */
export interface AnsweredRequest {
  readonly operation: string;
  /** From sending it to the end of its answer. */
  readonly latencyMs: number;
  /** Requests under way when it ended, itself included. */
  readonly inFlight: number;
  /** When it ended: monotonic milliseconds, counted from the epoch so that all instances share the beat of probes. */
  readonly at: number;
}

interface Latencies {
  count: number;
  sumMs: number;
  squareSum: number;
}

/** What was answered between two instants while the limit stood still. */
export class SampleWindow {
  readonly openedAt: number;
  readonly latencies = new Map<string, Latencies>();
  lastAt: number;
  count = 0;
  latencySumMs = 0;
  #inFlightSum = 0;

  /** @param openedAt The instant of an answer that does not belong to it, or the first gap would be missing. */
  constructor(openedAt: number) {
    this.openedAt = openedAt;
    this.lastAt = openedAt;
  }

  get durationMs(): number {
    return this.lastAt - this.openedAt;
  }

  get meanInFlight(): number {
    return this.#inFlightSum / this.count;
  }

  /**
   * The standard error of the mean latency, as a share of it. Taken within each operation, so that a change of the mix
   * is not taken for noise.
   */
  get error(): number {
    if (this.latencySumMs === 0) return 0;
    let variation = 0;
    for (const { count, sumMs, squareSum } of this.latencies.values()) variation += squareSum - sumMs ** 2 / count;
    return Math.sqrt(Math.max(0, variation)) / this.latencySumMs;
  }

  add({ operation, latencyMs, inFlight, at }: AnsweredRequest): void {
    const seen = this.latencies.get(operation) ?? { count: 0, sumMs: 0, squareSum: 0 };
    this.latencies.set(operation, seen);
    seen.count++;
    seen.sumMs += latencyMs;
    seen.squareSum += latencyMs ** 2;
    this.count++;
    this.latencySumMs += latencyMs;
    this.#inFlightSum += inFlight;
    this.lastAt = at;
  }
}
