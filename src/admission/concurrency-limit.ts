import { type AnsweredRequest, SampleWindow } from './sample-window.ts';

export interface ConcurrencyLimitOptions {
  /** Where to begin, before anything is known. */
  readonly initial: number;
  /** Never below this; at least 1. */
  readonly min: number;
  /** Never above this. */
  readonly max: number;
}

/** A request that got no answer in time, or a 5xx. */
export interface FailedRequest {
  readonly kind: 'timeout' | 'error';
  readonly operation: string;
  /** From sending it to giving it up, or to the end of the error. */
  readonly latencyMs: number;
  /** When it ended: monotonic milliseconds. */
  readonly at: number;
}

/** A trial with fewer requests under way, to see the latency that has no queue in it. */
interface Probe {
  readonly limit: number;
  /** What was seen before it, to be judged again with what it finds. */
  readonly before: SampleWindow;
}

const HEADROOM = Number(process.env.HEADROOM ?? 1.25);
const TOLERATED_SLOWDOWN = Number(process.env.TOL ?? 1.5);
const TOLERATED_QUEUE = 1.5;
const USED_SHARE = 0.75;
const PROBE_EVERY_MS = 10_000;
const CUT = { timeout: 0.7, error: 0.9 };
const WINDOW = { fewest: 16, shortestMs: 100, error: Number(process.env.ERR ?? 0.08), patienceMs: Number(process.env.PAT??1000), holeMs: 2000 };
const SIGMAS = Number(process.env.SIG ?? 2);
const LEARN_VARIANCE = Number(process.env.LV ?? 0.15) ** 2;

export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  readonly #baselines = new LatencyBaselines();
  #limit: number;
  #probe: Probe | undefined;
  #probedAt: number | undefined;
  #window: SampleWindow | undefined;
  #inForceAt: number | undefined = -Infinity;
  #reducedAt = -Infinity;
  #healthy: ReadonlySet<string> = new Set();

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
    this.#limit = options.initial;
  }

  get limit(): number {
    return Math.floor(this.#probe?.limit ?? this.#limit);
  }

  onAnswer(answered: AnsweredRequest): void {
    const window = this.#openWindow(answered);
    if (window === undefined) return;
    window.add(answered);
    if (this.#isConclusive(window)) this.#close(window);
  }

  onFailure({ kind, operation, latencyMs, at }: FailedRequest): void {
    if (at - latencyMs < this.#reducedAt) return;
    if (kind === 'error' && !this.#healthy.has(operation)) return;
    this.#healthy = new Set();
    this.#setLimit(this.#limit * CUT[kind]);
    this.#reducedAt = at;
    if (kind === 'timeout') this.#settle();
  }

  #openWindow({ inFlight, latencyMs, at }: AnsweredRequest): SampleWindow | undefined {
    if (this.#window !== undefined && at - this.#window.lastAt < WINDOW.holeMs) return this.#window;
    if (this.#inForceAt === undefined && inFlight <= this.limit) this.#inForceAt = at;
    if (this.#inForceAt === undefined || at - latencyMs < this.#inForceAt) return undefined;
    this.#window = new SampleWindow(at);
    return undefined;
  }

  #isConclusive(window: SampleWindow): boolean {
    if (window.durationMs < WINDOW.shortestMs || window.count < WINDOW.fewest) return false;
    return window.error < WINDOW.error || window.durationMs > WINDOW.patienceMs || (this.#probe === undefined && this.#isSlow(window));
  }

  #close(window: SampleWindow): void {
    this.#window = undefined;
    this.#healthy = new Set(window.latencies.keys());
    if (this.#probe !== undefined) this.#endProbe(this.#probe, window);
    else this.#judge(window);
  }

  #judge(window: SampleWindow): void {
    this.#baselines.estimateNew(window);
    const used = window.meanInFlight > this.#limit * USED_SHARE;
    const due = this.#probedAt === undefined || (used && window.lastAt - this.#probedAt > PROBE_EVERY_MS);
    if (due || this.#isSlow(window)) this.#startProbe(window, window);
    else this.#adjust(window);
  }

  #startProbe(window: SampleWindow, before: SampleWindow): void {
    const inFlight = window.meanInFlight;
    const limit = Math.max(this.#options.min, Math.round(Math.min(inFlight, this.#baselines.useful(window)) / 2));
    if (limit >= inFlight) {
      // So few are under way that none of them waits for another.
      this.#baselines.learn(window);
      this.#endOf(window, before);
      return;
    }
    this.#probe = { limit, before };
    this.#reducedAt = window.lastAt;
    this.#settle();
  }

  #endProbe({ before }: Probe, window: SampleWindow): void {
    const fell = this.#baselines.learn(window);
    if (process.env.TRACE) console.log('probe', window.lastAt.toFixed(0), 'level', this.limit, 'n', window.count, 'fell', fell, 'B', [...this.#baselines.ms], 'limit', this.#limit);
    if (fell) this.#startProbe(window, before);
    else this.#endOf(window, before);
  }

  #endOf(window: SampleWindow, before: SampleWindow): void {
    this.#probe = undefined;
    this.#probedAt = window.lastAt;
    this.#adjust(before);
    this.#settle();
  }

  #adjust(window: SampleWindow): void {
    const useful = this.#baselines.useful(window);
    const target = useful + Math.max(1, useful * (HEADROOM - 1));
    if (process.env.TRACE) console.log('adjust', window.lastAt.toFixed(0), 'n', window.count, 'err', window.error.toFixed(3), 'limit', this.#limit.toFixed(1), 'target', target.toFixed(1), 'r', this.#baselines.slowdown(window).toFixed(2), this.#isSlow(window));
    if (target > this.#limit || this.#isSlow(window)) {
      this.#setLimit(target);
      this.#settle();
    }
  }

  #isSlow(window: SampleWindow): boolean {
    const surely = 1 - SIGMAS * window.error;
    const queued = window.meanInFlight - this.#baselines.useful(window);
    return this.#baselines.slowdown(window) * surely > TOLERATED_SLOWDOWN && queued > TOLERATED_QUEUE;
  }

  #settle(): void {
    this.#window = undefined;
    this.#inForceAt = undefined;
  }

  #setLimit(limit: number): void {
    this.#limit = Math.min(this.#options.max, Math.max(this.#options.min, limit));
  }
}

class LatencyBaselines {
  readonly ms = new Map<string, number>();

  estimateNew(window: SampleWindow): void {
    const slowdown = this.slowdown(window);
    for (const [operation, { count, sumMs }] of window.latencies) {
      if (!this.ms.has(operation)) this.ms.set(operation, sumMs / count / slowdown);
    }
  }

  /** True when surely faster. */
  learn(window: SampleWindow): boolean {
    this.estimateNew(window);
    const fell = this.slowdown(window) * (1 + SIGMAS * window.error) < 0.9;
    for (const [operation, { count, sumMs }] of window.latencies) {
      const error = window.error * Math.sqrt(window.count / count);
      const weight = fell ? 1 : LEARN_VARIANCE / (LEARN_VARIANCE + error ** 2);
      const old = this.ms.get(operation) ?? 0;
      this.ms.set(operation, old + (sumMs / count - old) * weight);
    }
    return fell;
  }

  /** Little's law. */
  useful(window: SampleWindow): number {
    return this.#serviceMs(window) / window.durationMs;
  }

  slowdown(window: SampleWindow): number {
    let latencyMs = 0;
    for (const [operation, { sumMs }] of window.latencies) if (this.ms.has(operation)) latencyMs += sumMs;
    return latencyMs === 0 ? 1 : latencyMs / this.#serviceMs(window);
  }

  #serviceMs(window: SampleWindow): number {
    let sum = 0;
    for (const [operation, { count }] of window.latencies) sum += count * (this.ms.get(operation) ?? 0);
    return sum;
  }
}
