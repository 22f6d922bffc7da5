import type { SampleWindow } from './sample-window.ts';

/** Latency over baseline: 1 when nothing queues. `atLeast` and `atMost` leave three standard errors to chance. */
export interface Slowdown {
  readonly mean: number;
  readonly atLeast: number;
  readonly atMost: number;
}

const SIGMAS = 3;
/** How far a baseline is expected to move between two measurements, against which their error is weighed. */
const EXPECTED_VARIANCE = 0.15 ** 2;
/** Below this, latency without a queue had a queue in it. */
const FELL_TO = 0.9;

/** What each operation takes while nothing queues for it, in milliseconds: network and work. */
export class LatencyBaselines {
  readonly #ms = new Map<string, number>();

  /** Guesses the baselines of operations never seen before, supposing that they queued as long as the others. */
  estimateNew(window: SampleWindow): void {
    const { mean } = this.slowdown(window);
    for (const [operation, { count, sumMs }] of window.latencies) {
      if (!this.#ms.has(operation)) this.#ms.set(operation, sumMs / count / mean);
    }
  }

  /**
   * Takes over a window that is thought to have no queue in it, by the weight of its samples or, `forGood`, wholly.
   * Returns whether it was so much faster that the old baselines must have had a queue in them.
   */
  learn(window: SampleWindow, forGood: boolean): boolean {
    this.estimateNew(window);
    const fell = this.slowdown(window).atMost < FELL_TO;
    for (const [operation, { count, sumMs }] of window.latencies) {
      const variance = (window.error ** 2 * window.count) / count;
      const weight = forGood ? 1 : EXPECTED_VARIANCE / (EXPECTED_VARIANCE + variance);
      const baselineMs = this.#ms.get(operation) ?? 0;
      this.#ms.set(operation, baselineMs + (sumMs / count - baselineMs) * weight);
    }
    return fell;
  }

  /** How many requests were worked on, on average, and did not wait: Little's law. */
  useful(window: SampleWindow): number {
    return this.#workMs(window) / window.durationMs;
  }

  slowdown(window: SampleWindow): Slowdown {
    let latencyMs = 0;
    for (const [operation, { sumMs }] of window.latencies) if (this.#ms.has(operation)) latencyMs += sumMs;
    // A change of the mix is none of the latency: both sums are over the same requests.
    const mean = latencyMs === 0 ? 1 : latencyMs / this.#workMs(window);
    return { mean, atLeast: mean * (1 - SIGMAS * window.error), atMost: mean * (1 + SIGMAS * window.error) };
  }

  #workMs(window: SampleWindow): number {
    let sum = 0;
    for (const [operation, { count }] of window.latencies) sum += count * (this.#ms.get(operation) ?? 0);
    return sum;
  }
}
