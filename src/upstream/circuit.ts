import { ExponentialBackoff, type IBackoff, noJitterGenerator } from 'cockatiel';
import { KeySamples } from './key-samples.ts';

/** Jitter only shortens, by at most this share, so that the longest rest stays the longest. */
const JITTER = 0.2;

/** Enough to judge by, however many calls a window holds. */
const MOST_SAMPLES = 1000;

/** A probe that has not been ended by now never will be: the answer of any call comes far sooner. */
const PROBE_LOST_AFTER_MS = 60_000;

export interface CircuitOptions {
  /** It opens when this share (0 to 1) of at least so many keys failed within the window. */
  readonly failureShare: number;
  readonly leastKeys: number;
  readonly windowMs: number;
  /** How long it rests before a probe, in milliseconds; each failed probe doubles that, up to the longest. */
  readonly restMs: number;
  readonly longestRestMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
}

/** It opened for `restMs` (or stays open for that long, when a probe failed), or closed. */
export type CircuitChange = { readonly state: 'open'; readonly restMs: number } | { readonly state: 'closed' };

/** Whether calls of one kind may be sent: all, none, or after each rest one that decides. */
// cockatiel's own circuit breaker knows no keys, lets callers wait for the end of the probe, and measures its rest by
// the wall clock, so that only its backoff is of use here.
export class Circuit {
  readonly #options: CircuitOptions;
  readonly #onChange: (change: CircuitChange) => void;
  readonly #samples: KeySamples;
  readonly #backoff: ExponentialBackoff<number>;
  /** Undefined while closed. */
  #rest: IBackoff<unknown> | undefined;
  #restsUntil = 0;
  #probeUntil = 0;

  constructor(options: CircuitOptions, onChange: (change: CircuitChange) => void) {
    const { windowMs, restMs, longestRestMs, now } = options;
    this.#options = options;
    this.#onChange = onChange;
    this.#samples = new KeySamples({ windowMs, mostSamples: MOST_SAMPLES, now });
    this.#backoff = new ExponentialBackoff({
      generator: noJitterGenerator,
      initialDelay: restMs,
      maxDelay: longestRestMs,
    });
  }

  /** Whether nothing may be sent now: it rests, or its probe is under way. */
  get isOpen(): boolean {
    return this.#rest !== undefined && this.#options.now() < Math.max(this.#restsUntil, this.#probeUntil);
  }

  /** Milliseconds until the rest ends; 0 while closed, and while a probe is under way. */
  get retryAfterMs(): number {
    return this.#rest === undefined ? 0 : Math.max(0, this.#restsUntil - this.#options.now());
  }

  /** Takes the right to send a call now. Every `probe` is to be ended by one call of a `probe...` method. */
  admit(key: string): 'go' | 'probe' | 'open' {
    if (this.#rest === undefined) return 'go';
    // A key that failed a probe of late has had its say: a broken key must not answer for all again and again.
    if (this.isOpen || this.#samples.hasFailed(key)) return 'open';
    this.#probeUntil = this.#options.now() + PROBE_LOST_AFTER_MS;
    return 'probe';
  }

  /** Counts how a call ended that was no probe. While open that says nothing new: the call was sent before. */
  count(key: string, failed: boolean): void {
    if (this.#rest !== undefined) return;
    const samples = this.#samples;
    const { leastKeys, failureShare } = this.#options;
    samples.add(key, failed);
    if (!failed || samples.count < leastKeys || samples.failures < failureShare * samples.count) return;
    samples.clear();
    this.#open();
  }

  probeSucceeded(): void {
    if (this.#rest === undefined) return;
    this.#rest = undefined;
    this.#samples.clear();
    this.probeUnsent();
    this.#onChange({ state: 'closed' });
  }

  probeFailed(key: string): void {
    if (this.#rest === undefined) return;
    this.#samples.add(key, true);
    this.probeUnsent();
    this.#open();
  }

  /** The next caller may probe. */
  probeUnsent(): void {
    this.#probeUntil = 0;
  }

  #open(): void {
    this.#rest = this.#rest?.next(undefined) ?? this.#backoff.next();
    const restMs = this.#rest.duration * (1 - JITTER * this.#options.random());
    this.#restsUntil = this.#options.now() + restMs;
    this.#onChange({ state: 'open', restMs });
  }
}
