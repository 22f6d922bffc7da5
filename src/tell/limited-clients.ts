import type { MonotonicMs, Ms } from '../time-units.ts';

/** Clients are counted in spans of this length: the present and the previous one count. */
const SPAN_MS: Ms = 10_000;

/** The maximum number of clients in a span; further ones are not counted. */
const MOST = 256;

/** The refused requests of a span. */
class RefusedSpan {
  readonly clients = new Map<string, number>();
  all = 0;
  namingOthers = 0;
}

/** The clients that exceeded their limits in the last 10 to 20 s. */
export class LimitedClients {
  readonly #monotonic: () => MonotonicMs;
  #begunAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #before = new RefusedSpan();
  #counts = new RefusedSpan();

  constructor(monotonic: () => MonotonicMs) {
    this.#monotonic = monotonic;
  }

  /** Counts a refused request. `namesAnother`: it names another client, in a header that is not read. */
  count(client: string, namesAnother: boolean): void {
    this.#turn();
    const { clients } = this.#counts;
    const known = clients.get(client);
    if (known !== undefined || clients.size < MOST) clients.set(client, (known ?? 0) + 1);
    this.#counts.all++;
    if (namesAnother) this.#counts.namingOthers++;
  }

  /** True if most refused requests name another client: then the limited one may be a proxy of many. */
  get nameOthers(): boolean {
    this.#turn();
    const [all, namingOthers] = [
      this.#before.all + this.#counts.all,
      this.#before.namingOthers + this.#counts.namingOthers,
    ];
    return namingOthers > all / 2;
  }

  /** The most refused clients first. */
  names(): readonly string[] {
    this.#turn();
    const sums = new Map(this.#before.clients);
    for (const [client, count] of this.#counts.clients) sums.set(client, (sums.get(client) ?? 0) + count);
    return [...sums].sort(([, a], [, b]) => b - a).map(([client]) => client);
  }

  #turn(): void {
    const spans = Math.floor((this.#monotonic() - this.#begunAt) / SPAN_MS);
    if (spans < 1) return;
    this.#before = spans === 1 ? this.#counts : new RefusedSpan();
    this.#counts = new RefusedSpan();
    this.#begunAt = this.#monotonic();
  }
}
