import type { MonotonicMs, Ms } from '../time-units.ts';

/** Clients are counted in spans of this length: the present and the previous one count. */
const SPAN_MS: Ms = 10_000;

/** The maximum number of clients in a span; further ones are not counted. */
const MOST = 256;

/** The clients that exceeded their limits in the last 10 to 20 s. */
export class LimitedClients {
  readonly #monotonic: () => MonotonicMs;
  #begunAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #before: ReadonlyMap<string, number> = new Map();
  #counts = new Map<string, number>();

  constructor(monotonic: () => MonotonicMs) {
    this.#monotonic = monotonic;
  }

  /** Counts a refused request. */
  readonly count = (client: string): void => {
    this.#turn();
    const known = this.#counts.get(client);
    if (known !== undefined || this.#counts.size < MOST) this.#counts.set(client, (known ?? 0) + 1);
  };

  /** The most refused clients first. */
  names(): readonly string[] {
    this.#turn();
    const sums = new Map(this.#before);
    for (const [client, count] of this.#counts) sums.set(client, (sums.get(client) ?? 0) + count);
    return [...sums].sort(([, a], [, b]) => b - a).map(([client]) => client);
  }

  #turn(): void {
    const spans = Math.floor((this.#monotonic() - this.#begunAt) / SPAN_MS);
    if (spans < 1) return;
    this.#before = spans === 1 ? this.#counts : new Map();
    this.#counts = new Map();
    this.#begunAt = this.#monotonic();
  }
}
