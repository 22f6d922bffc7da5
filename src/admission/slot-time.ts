/** The estimate is made of the last one to two of these, in milliseconds. */
const WINDOW_MS = 1000;

export interface SlotTimeDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface SlotTimeOptions {
  /** After so many milliseconds in which no request ends, newcomers would wait too long. */
  readonly patienceMs: number;
}

/** Slot-milliseconds that were used, and requests that ended, in one window. */
interface Used {
  ms: number;
  ended: number;
}

/**
 * How long requests of one operation wait for slots:
 *
 *   wait = those ahead * slot time / slots
 *   slot time = slot-milliseconds used in the window / requests that ended in it
 *   slots = those in use, now or on average in the window, whichever are more
 *
 * The slots in use count while their requests last, so the estimate grows while an indexer hangs. It is not known
 * before three quarters as many requests have ended as slots are in use, or slots are in use for a second: the first of
 * many answers would say that all the others take as long again.
 */
export class SlotTime {
  readonly #now: () => number;
  readonly #patienceMs: number;
  #older: Used = { ms: 0, ended: 0 };
  #newer: Used = { ms: 0, ended: 0 };
  #windowEndsAt = Number.NEGATIVE_INFINITY;
  #inUse = 0;
  #countedAt = 0;
  /** Since when slots are in use. */
  #busySince = 0;

  constructor({ now }: SlotTimeDependencies, { patienceMs }: SlotTimeOptions) {
    this.#now = now;
    this.#patienceMs = patienceMs;
  }

  /** A request was given a slot. */
  begin(): void {
    const now = this.#count();
    if (this.#inUse === 0) this.#busySince = now;
    this.#inUse++;
  }

  /** A request gave its slot back; `wasSent`: whether it was at the indexer. */
  end(wasSent: boolean): void {
    this.#count();
    this.#inUse--;
    if (wasSent) this.#newer.ended++;
  }

  /** How long a request waits behind so many others, in milliseconds; `undefined` while that is not known. */
  waitMs(ahead: number): number | undefined {
    const now = this.#count();
    const ended = this.#older.ended + this.#newer.ended;
    const busyMs = this.#inUse > 0 ? now - this.#busySince : 0;
    if (ended >= Math.max(0.75 * this.#inUse, 1) || (ended > 0 && busyMs >= WINDOW_MS)) {
      const used = this.#older.ms + this.#newer.ms;
      const average = used / (2 * WINDOW_MS - (this.#windowEndsAt - now));
      return (ahead * used) / ended / Math.max(this.#inUse, average, 1);
    }
    return ended === 0 && busyMs > this.#patienceMs ? Number.POSITIVE_INFINITY : undefined;
  }

  #count(): number {
    const now = this.#now();
    if (now >= this.#windowEndsAt) {
      const isNext = now < this.#windowEndsAt + WINDOW_MS;
      if (isNext) this.#newer.ms += this.#inUse * (this.#windowEndsAt - this.#countedAt);
      this.#older = isNext ? this.#newer : { ms: this.#inUse * WINDOW_MS, ended: 0 };
      this.#countedAt = isNext ? this.#windowEndsAt : now;
      this.#newer = { ms: 0, ended: 0 };
      this.#windowEndsAt = isNext ? this.#windowEndsAt + WINDOW_MS : now + WINDOW_MS;
    }
    this.#newer.ms += this.#inUse * (now - this.#countedAt);
    this.#countedAt = now;
    return now;
  }
}
