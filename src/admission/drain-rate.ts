/** The number of newest starts that are kept. */
const MOST_STARTS = 1024;
/** Older starts are not counted, unless there are too few newer ones. */
const WINDOW_MS = 1000;
/** The fewest starts from which the rate is known before the patience is over, however few the slots are. */
const FEWEST_STARTS = 16;
/**
 * In this time after the first start the rate is not known: the first answers come in clumps, and late while
 * connections are opened and code is cold.
 */
const SHORTEST_MS = 100;

export interface DrainRateOptions {
  /** The slots that requests wait for. */
  readonly slots: number;
}

/**
 * How fast a backlog drains: starts per millisecond while requests wait. It can only be measured while there is a
 * backlog: without one, starts are as frequent as arrivals, and say nothing about the capacity of the indexer.
 *
 * rate = starts in the window / (now - begin of the window); begin of the window = max(begin of the backlog, min(a
 * second ago, the nth newest start)), where n is three quarters of the slots, from 16 to 1024. The rate falls while
 * nothing starts, because `now` goes on. With fewer than n starts the window begins with the backlog; of more than 1024
 * in a second, at the 1024th newest.
 *
 * The rate is known after n starts and 100 ms, or after the patience of a client with fewer starts. Answers come in clumps, and so do starts; two clumps with a pause between them say
 * too little. With n = 16 for 64 slots, up to 48 of 1000 requests at once were refused before an indexer that answers all of
 * them in 1.2 s; with three quarters, none (`npm run bench:overload -- --scenario burst`). A larger n costs more under real
 * overload: whoever comes before the rate is known waits in full, even if in vain.
 */
export class DrainRate {
  /** A ring buffer: start number n is at index n modulo its length. */
  readonly #startedAt = new Float64Array(MOST_STARTS);
  #oldest = 0;
  #next = 0;
  #beganAt = 0;
  #firstStartAt = 0;
  readonly #fewestStarts: number;

  constructor({ slots }: DrainRateOptions) {
    this.#fewestStarts = Math.min(Math.max(0.75 * slots, FEWEST_STARTS), MOST_STARTS);
  }

  /** To be called when a backlog begins. */
  begin(now: number): void {
    this.#beganAt = now;
    this.#oldest = 0;
    this.#next = 0;
  }

  /** To be called when a waiting request starts. */
  add(now: number): void {
    if (this.#next === 0) this.#firstStartAt = now;
    this.#startedAt[this.#next % MOST_STARTS] = now;
    this.#next++;
    if (this.#next - this.#oldest > MOST_STARTS) this.#oldest++;
    this.#forgetOld(now);
  }

  /**
   * Starts per millisecond, or `undefined` while it is not known. With too few starts it is known after
   * `patienceMs`: so slow a backlog would serve no newcomer in time.
   */
  perMs(now: number, patienceMs: number): number | undefined {
    this.#forgetOld(now);
    const starts = this.#next - this.#oldest;
    const isKnown =
      starts >= this.#fewestStarts ? now - this.#firstStartAt >= SHORTEST_MS : now - this.#beganAt >= patienceMs;
    return isKnown ? starts / (now - this.#windowBegin(now, starts)) : undefined;
  }

  #windowBegin(now: number, starts: number): number {
    if (starts < this.#fewestStarts) return this.#beganAt;
    const oldestAt = this.#at(this.#oldest);
    return starts === MOST_STARTS ? oldestAt : Math.max(this.#beganAt, Math.min(now - WINDOW_MS, oldestAt));
  }

  #forgetOld(now: number): void {
    while (this.#next - this.#oldest > this.#fewestStarts && this.#at(this.#oldest) < now - WINDOW_MS) this.#oldest++;
  }

  #at(start: number): number {
    return this.#startedAt[start % MOST_STARTS] ?? 0;
  }
}
