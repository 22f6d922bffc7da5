/** So many of the newest starts are kept. */
const MOST_STARTS = 1024;
/** Starts older than this say nothing about now, unless there are hardly any newer ones. */
const WINDOW_MS = 1000;
/** With fewer starts than this the rate is not known. */
const FEWEST_STARTS = 16;
/**
 * So long after its first start a backlog has seen too little: the first answers come in clumps, and late where
 * connections are opened and code is cold.
 */
const SHORTEST_MS = 100;

/**
 * How fast a backlog drains: starts per millisecond while somebody waits. Only a backlog can measure it, since without
 * one the rate of starts is the rate of arrivals and says nothing about what the indexer could do.
 *
 * rate = starts in the window / (now - begin of the window); the window begins with the backlog, or a second ago, or
 * with the 16th newest start, whichever is later (the last two: whichever is earlier). As `now` is part of it, the rate
 * falls while nothing starts at all.
 */
export class DrainRate {
  /** A ring: the start number n is at n modulo its length. */
  readonly #startedAt = new Float64Array(MOST_STARTS);
  #oldest = 0;
  #next = 0;
  #beganAt = 0;
  #firstStartAt = 0;

  /** A backlog begins. */
  begin(now: number): void {
    this.#beganAt = now;
    this.#oldest = 0;
    this.#next = 0;
  }

  /** One who waited was started. */
  add(now: number): void {
    if (this.#next === 0) this.#firstStartAt = now;
    this.#startedAt[this.#next % MOST_STARTS] = now;
    this.#next++;
    if (this.#next - this.#oldest > MOST_STARTS) this.#oldest++;
    this.#forgetOld(now);
  }

  /**
   * Starts per millisecond, or `undefined` while too little was seen. A backlog in which hardly anything started for
   * `patienceMs` has seen enough: nobody who comes now would be served in time.
   */
  perMs(now: number, patienceMs: number): number | undefined {
    this.#forgetOld(now);
    const starts = this.#next - this.#oldest;
    const isKnown =
      starts >= FEWEST_STARTS ? now - this.#firstStartAt >= SHORTEST_MS : now - this.#beganAt >= patienceMs;
    return isKnown ? starts / (now - this.#windowBegin(now, starts)) : undefined;
  }

  #windowBegin(now: number, starts: number): number {
    if (starts < FEWEST_STARTS) return this.#beganAt;
    const oldestAt = this.#at(this.#oldest);
    return starts === MOST_STARTS ? oldestAt : Math.max(this.#beganAt, Math.min(now - WINDOW_MS, oldestAt));
  }

  #forgetOld(now: number): void {
    while (this.#next - this.#oldest > FEWEST_STARTS && this.#at(this.#oldest) < now - WINDOW_MS) this.#oldest++;
  }

  #at(start: number): number {
    return this.#startedAt[start % MOST_STARTS] ?? 0;
  }
}
