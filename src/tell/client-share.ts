import type { MonotonicMs, Ms } from '../time-units.ts';

/** Requests are counted in spans of this length: the present and the previous one count. */
const SPAN_MS: Ms = 10_000;

/** A share means nothing before requests were counted for this long: the first ones may be a burst of one client. */
const LEAST_MS: Ms = 3000;

/**
 * The share of the client whose request failed last in the requests of all clients, in the last 10 to 20 s. Without
 * failures nothing is counted, because it costs a hit more to know its client than to be answered.
 */
export class ClientShare {
  readonly #monotonic: () => MonotonicMs;
  #client: string | undefined;
  #watchedFrom: MonotonicMs = 0;
  #failedAt: MonotonicMs = 0;
  #begunAt: MonotonicMs = 0;
  #before = { own: 0, others: 0 };
  #counts = { own: 0, others: 0 };

  constructor(monotonic: () => MonotonicMs) {
    this.#monotonic = monotonic;
  }

  /** True while {@link count} must be called. */
  get isWatching(): boolean {
    return this.#client !== undefined;
  }

  /** A request of this client failed. */
  failed(client: string): void {
    const now = this.#monotonic();
    this.#failedAt = now;
    if (client === this.#client) return;
    this.#client = client;
    this.#watchedFrom = now;
    this.#begunAt = now;
    this.#before = { own: 0, others: 0 };
    this.#counts = { own: 1, others: 0 };
  }

  /** Counts a request of any client. */
  count(client: string): void {
    this.#turn();
    this.#counts[client === this.#client ? 'own' : 'others']++;
  }

  /** Ends the watch when no request failed for this long. */
  forgetAfter(ms: Ms): void {
    if (this.#monotonic() - this.#failedAt > ms) this.#client = undefined;
  }

  /** True if this client, whose request failed last, sends more than half of all requests. */
  isMost(client: string): boolean {
    const { own, others } = this.#sums;
    return this.#isKnown(client) && (own > others || others === 0);
  }

  /** True if this client, whose request failed last, is the only one. */
  isAlone(client: string): boolean {
    return this.#isKnown(client) && this.#sums.others === 0;
  }

  #isKnown(client: string): boolean {
    return client === this.#client && this.#monotonic() - this.#watchedFrom >= LEAST_MS;
  }

  get #sums() {
    this.#turn();
    return { own: this.#before.own + this.#counts.own, others: this.#before.others + this.#counts.others };
  }

  #turn(): void {
    const spans = Math.floor((this.#monotonic() - this.#begunAt) / SPAN_MS);
    if (spans < 1) return;
    this.#before = spans === 1 ? this.#counts : { own: 0, others: 0 };
    this.#counts = { own: 0, others: 0 };
    this.#begunAt += spans * SPAN_MS;
  }
}
