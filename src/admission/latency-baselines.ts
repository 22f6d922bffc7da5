import type { SampleWindow } from './sample-window.ts';

/** The standard errors that are left to chance. */
const SIGMAS = 3;
/** How far a baseline is expected to move between two measurements, against which their error is weighed. */
const EXPECTED_VARIANCE = 0.15 ** 2;
/** The share of a baseline below which no latency without a queue should be. */
const TOO_FAST = 0.75;

/** What each operation takes while nothing queues for it, in milliseconds: network and work. */
export class LatencyBaselines {
  readonly #ms = new Map<string, number>();

  /** Guesses the baselines of operations never seen before, supposing that they queued as long as the others. */
  estimateNew(window: SampleWindow): void {
    const slowdown = this.#slowdown(window);
    for (const [operation, { count, sumMs }] of window.latencies) {
      if (!this.#ms.has(operation)) this.#ms.set(operation, sumMs / count / slowdown);
    }
  }

  /** Takes over a window that is thought to have no queue in it, by the weight of its samples or, `wholly`, as it is. */
  learn(window: SampleWindow, { wholly }: { wholly: boolean }): void {
    this.estimateNew(window);
    for (const [operation, { count, sumMs }] of window.latencies) {
      const variance = (window.error ** 2 * window.count) / count;
      const weight = wholly ? 1 : EXPECTED_VARIANCE / (EXPECTED_VARIANCE + variance);
      const baselineMs = this.#ms.get(operation) ?? 0;
      this.#ms.set(operation, baselineMs + (sumMs / count - baselineMs) * weight);
    }
  }

  /** Whether the latency is below the baselines by more than chance: there was a queue in them, or work became faster. */
  areTooHigh(window: SampleWindow): boolean {
    return this.#slowdown(window) * (1 + SIGMAS * window.error) < TOO_FAST;
  }

  /** Latency over baseline, 1 when nothing queues: as much as it is at least, whatever chance did. */
  surelySlower(window: SampleWindow): number {
    return this.#slowdown(window) * (1 - SIGMAS * window.error);
  }

  /** How many requests were worked on, on average, and did not wait. */
  useful(window: SampleWindow): number {
    return window.meanInFlight / this.#slowdown(window);
  }

  #slowdown(window: SampleWindow): number {
    let latencyMs = 0;
    let baselineMs = 0;
    // Both sums are over the same requests, so a change of the mix is no change of the slowdown.
    for (const [operation, { count, sumMs }] of window.latencies) {
      const ownMs = this.#ms.get(operation);
      if (ownMs === undefined) continue;
      latencyMs += sumMs;
      baselineMs += count * ownMs;
    }
    return latencyMs > 0 && baselineMs > 0 ? latencyMs / baselineMs : 1;
  }
}
