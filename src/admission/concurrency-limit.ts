import { ErrorShare } from './error-share.ts';
import { LatencyBaselines } from './latency-baselines.ts';
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
  /** Requests under way when it ended, itself included. */
  readonly inFlight: number;
  /** When it ended, on the clock of {@link AnsweredRequest}. */
  readonly at: number;
}

/** A trial with half of the useful requests under way, to see the latency that has no queue in it. */
interface Probe {
  readonly limit: number;
  /** What was seen before it, to be judged again by the baselines that it finds. Void after a timeout. */
  readonly before: SampleWindow | undefined;
}

/** The limit over the useful concurrency: the queue that keeps all workers busy between two answers. */
const HEADROOM = 1.25;
/** Latency over baseline, and requests that queue: both must be exceeded, as one request is half of a limit of 2. */
const TOLERATED = { slowdown: 1.5, queued: 1.5 };
/** The part of the way to a higher target that is gone at once: a lucky window is not capacity. */
const GROWTH_STEP = 0.5;
/**
 * After a cut the limit doubles up to so much of what had proved good, as long as latency is within so much of its
 * baseline (the slow start of RFC 5681): in steps of a request a limit of 4 would take many seconds to be 20 again.
 */
const REGROWTH = { factor: 2, share: 0.8, slowdown: 1.1 };
/** So few under way hardly wait for each other, and halving them would turn away requests of an idle indexer. */
const FEW = 4;
const USED_SHARE = 0.75;
const CUT = 0.7;
/** What a timeout leaves of the limit where nothing was heard meanwhile: what hangs at the indexer is not ended. */
const TRUST_IN_SILENCE = 0.15;
/** The part of the timeout: what hangs was sent when the last answers still came. */
const SILENCE = 0.8;
/** A window is read when its mean is known to this share, or when patience ends. */
const WINDOW = { enough: 16, few: 4, shortestMs: 100, error: 0.08, probeError: 0.12, patienceMs: 1000 };
/** Soon again at the beginning, as a single look can err; then seldom, as each costs a part of the throughput. */
const PROBE_INTERVAL_MS = { shortest: 2000, longest: 16_000 };

/**
 * How many requests the indexer can use at once, learnt from how it answers. Samples in, a number out: no timers; time
 * comes with the samples. What was under way, divided by latency over its baseline, is how many requests were worked on
 * and did not wait (by Little's law that is throughput x baseline); the limit is a quarter more than that. So it is
 * bounded by what was used with profit and cannot run away on constant latency, and load below it never raises it.
 *
 * The idea is the gradient of Netflix/concurrency-limits (Gradient2Limit). Its known faults, and what is done here:
 * - Constant timeouts are a constant latency and raise the limit to its maximum, drops are ignored (issues 137, 176):
 *   here failures cut the limit at once and are no samples.
 * - The queue allowance is added while latency rises, so mild overload grows without end (pull request 134): here the
 *   limit only grows while latency is within the allowance of the baseline.
 * - The baseline is an average that overload drags along (Netflix issue 165, failsafe-go issue 127): here it is measured
 *   in probes with half of the useful requests under way, as Envoy's minRTT and BBR's ProbeRTT are, and every cut for
 *   latency is such a probe. If latency falls with the concurrency it was queueing; if not, the indexer became slower,
 *   the baseline follows, and the limit comes back.
 * - One baseline for all kinds of requests turns a changed mix into a changed latency: here each operation has its own.
 */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  readonly #baselines = new LatencyBaselines();
  readonly #errors = new ErrorShare();
  #limit: number;
  /** The most under way with which the indexer was not slow. */
  #proved = 0;
  #isRegrown = false;
  #probe: Probe | undefined;
  #nextProbeAt: number | undefined;
  #probeIntervalMs = PROBE_INTERVAL_MS.shortest;
  #window: SampleWindow | undefined;
  /** When no more were under way than the limit allows, since it was last changed. */
  #inForceAt: number | undefined;
  #answersInForce = 0;
  #reducedAt = -Infinity;
  #lastHeardAt = -Infinity;
  /** Of the limit; less than the whole from a timeout in silence until something is heard. */
  #trustedShare = 1;
  #healthy: ReadonlySet<string> = new Set();

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
    this.#limit = this.#clamp(options.initial);
  }

  /** The most requests that should be under way now; a whole number. */
  get limit(): number {
    const limit = Math.min(this.#limit, this.#probe?.limit ?? Infinity) * this.#trustedShare;
    return Math.floor(Math.max(this.#options.min, limit));
  }

  /** Learns from an answer; the limit may change at any of them. */
  onAnswer(answered: AnsweredRequest): void {
    this.onHeard(answered.at);
    this.#errors.add('answered');
    const window = this.#openWindow(answered);
    if (window === undefined) return;
    window.add(answered);
    if (this.#isConclusive(window)) this.#close(window);
  }

  /**
   * Cuts the limit, once for all failures of requests that were sent before the last cut: they are of one overload.
   * A timeout while much of the limit is free says something of its request, and would take the limit from all others
   * when one client asks for it again and again. One in nearly all of whose time nothing was heard of the indexer
   * leaves but a few until something is: more would only hang beside those that do. Errors cut it when they break out,
   * at most once a window, and only of an operation that was answered in the last one: what answers nothing but 5xx is
   * broken, not overloaded.
   */
  onFailure({ kind, operation, latencyMs, inFlight, at }: FailedRequest): void {
    const silenceMs = at - this.#lastHeardAt;
    if (kind === 'timeout') {
      if (inFlight <= this.limit * USED_SHARE) return;
    } else {
      this.onHeard(at);
      if (!this.#healthy.has(operation)) return;
      this.#errors.add('failed');
      if (!this.#errors.isUnusual) return;
    }
    if (at - latencyMs < this.#reducedAt) return;
    this.#reducedAt = at;
    this.#healthy = new Set();
    this.#errors.restart();
    if (this.#probe !== undefined) this.#probe = { limit: this.#probe.limit, before: undefined };
    if (kind === 'timeout' && silenceMs > latencyMs * SILENCE) this.#trustedShare *= TRUST_IN_SILENCE;
    else this.#limit = this.#clamp(this.#limit * CUT);
    if (kind === 'error') return;
    this.#endRegrowth();
    this.#settle();
  }

  /** Ends a silence: the indexer is there, though how long it took says nothing. */
  onHeard(at: number): void {
    this.#lastHeardAt = at;
    if (this.#trustedShare === 1) return;
    this.#trustedShare = 1;
    this.#limit = this.#clamp(this.#limit * CUT);
    this.#settle();
  }

  /** The window of this answer, if there is one: it opens when the answers are to requests sent under this limit. */
  #openWindow({ inFlight, latencyMs, at }: AnsweredRequest): SampleWindow | undefined {
    if (this.#window !== undefined) return this.#window;
    if (inFlight <= this.limit) this.#inForceAt ??= at;
    if (this.#inForceAt === undefined || at - latencyMs < this.#inForceAt) return undefined;
    // The first to come back are the quick ones. After one for each place most that were sent before are back too.
    if (++this.#answersInForce >= this.limit) this.#window = new SampleWindow(at);
    return undefined;
  }

  #isConclusive(window: SampleWindow): boolean {
    if (window.durationMs > WINDOW.patienceMs) return window.count >= WINDOW.few;
    if (window.durationMs < WINDOW.shortestMs || window.count < WINDOW.enough) return false;
    return this.#probe === undefined
      ? window.error < WINDOW.error || this.#isSlow(window)
      : window.error < WINDOW.probeError;
  }

  #close(window: SampleWindow): void {
    this.#window = undefined;
    this.#healthy = new Set(window.latencies.keys());
    if (this.#probe === undefined) this.#judge(window);
    else this.#readProbe(this.#probe, window);
  }

  #judge(window: SampleWindow): void {
    this.#baselines.estimateNew(window);
    const used = window.meanInFlight > this.#limit * USED_SHARE;
    const due = this.#nextProbeAt === undefined || (used && window.lastAt >= this.#nextProbeAt);
    if (due || this.#isSlow(window) || this.#baselines.areTooHigh(window)) this.#startProbe(window, window);
    else this.#adjust(window);
  }

  #startProbe(window: SampleWindow, before: SampleWindow | undefined): void {
    const limit = this.#clamp(Math.round(Math.min(window.meanInFlight, this.#baselines.useful(window)) / 2));
    if (limit < window.meanInFlight && window.meanInFlight > FEW) {
      this.#probe = { limit, before };
      this.#reducedAt = window.lastAt;
      this.#settle();
    } else {
      // So few are under way that none waits for another, or no fewer are allowed.
      this.#learn(window);
      this.#endProbe(window, before);
    }
  }

  #endProbe({ lastAt }: SampleWindow, before: SampleWindow | undefined): void {
    this.#probe = undefined;
    // On the beat of the clock, so that all instances before one indexer probe together: the half of one of many would
    // leave the queue of the others in the baseline, and that drives all limits up without end.
    this.#nextProbeAt = (Math.floor(lastAt / this.#probeIntervalMs) + 1) * this.#probeIntervalMs;
    this.#probeIntervalMs = Math.min(this.#probeIntervalMs * 2, PROBE_INTERVAL_MS.longest);
    this.#settle();
    if (before !== undefined) this.#adjust(before);
  }

  #readProbe({ before }: Probe, window: SampleWindow): void {
    const stillQueued = this.#baselines.areTooHigh(window);
    this.#learn(window);
    if (stillQueued) this.#startProbe(window, before);
    else this.#endProbe(window, before);
  }

  #learn(window: SampleWindow): void {
    this.#baselines.learn(window, { wholly: this.#nextProbeAt === undefined });
  }

  #adjust(window: SampleWindow): void {
    const useful = this.#baselines.useful(window);
    const target = useful + Math.max(1, useful * (HEADROOM - 1));
    if (this.#isSlow(window)) {
      this.#endRegrowth();
      this.#limit = this.#clamp(target);
    } else {
      this.#proved = Math.max(this.#proved, window.meanInFlight);
      if (target > this.#limit) this.#grow(target, useful * REGROWTH.slowdown > window.meanInFlight);
    }
    this.#settle();
  }

  #grow(target: number, hardlyQueues: boolean): void {
    const grown = this.#limit + (target - this.#limit) * GROWTH_STEP;
    const regrown = hardlyQueues ? Math.min(this.#proved * REGROWTH.share, this.#limit * REGROWTH.factor) : 0;
    this.#isRegrown = regrown > grown;
    this.#limit = this.#clamp(Math.max(grown, regrown));
  }

  /** What it had grown back to was too much. */
  #endRegrowth(): void {
    if (this.#isRegrown) this.#proved *= REGROWTH.share;
    this.#isRegrown = false;
  }

  /** Whether the latency is surely, not by the chance of a few samples, more than queueing within the headroom. */
  #isSlow(window: SampleWindow): boolean {
    const queued = window.meanInFlight - this.#baselines.useful(window);
    return queued > TOLERATED.queued && this.#baselines.surelySlower(window) > TOLERATED.slowdown;
  }

  /** Forgets what was seen under another limit. */
  #settle(): void {
    this.#window = undefined;
    this.#inForceAt = undefined;
    this.#answersInForce = 0;
  }

  #clamp(limit: number): number {
    return Math.min(this.#options.max, Math.max(this.#options.min, limit));
  }
}
