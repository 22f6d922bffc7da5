import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * The estimate is made of the last one to two windows. A window is as short as this if as many requests have ended in it
 * as slots are in use, so that it follows when the load jumps.
 */
const SHORTEST_MS = 250;
const LONGEST_MS = 1000;

export interface SlotUseDependencies {
  readonly now: () => MonotonicMs;
  /** After so long a time in which no request ends, newcomers would wait too long. */
  readonly patienceMs: Ms;
}

/** Slot-milliseconds that were used, and requests that ended, in one window. */
interface Window {
  usedMs: number;
  ended: number;
  readonly since: MonotonicMs;
}

/**
 * How requests of one operation use slots, and how long they wait for them:
 *
 *   wait = those ahead * slot time / slots
 *   slot time = slot-milliseconds used in the window / requests that ended in it
 *   slots = those in use, now or on average in the window, whichever are more
 *
 * The slots in use count while their requests last, so the estimate grows while an indexer hangs. It is not known
 * before three quarters as many requests have ended as slots are in use, or slots are in use for a second: the first of
 * many answers would say that all the others take as long again.
 */
export class SlotUse {
  readonly #now: () => MonotonicMs;
  readonly #patienceMs: Ms;
  #older: Window = { usedMs: 0, ended: 0, since: 0 };
  #newer: Window = { usedMs: 0, ended: 0, since: 0 };
  #inUse = 0;
  #countedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Since when slots are in use. */
  #busySince: MonotonicMs = 0;

  constructor({ now, patienceMs }: SlotUseDependencies) {
    this.#now = now;
    this.#patienceMs = patienceMs;
  }

  /** Slots in use now. */
  get inUse(): number {
    return this.#inUse;
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

  /** How long a request waits behind so many others; `undefined` while that is not known. */
  waitMs(ahead: number): Ms | undefined {
    const now = this.#count();
    const ended = this.#older.ended + this.#newer.ended;
    const busyMs = this.#inUse > 0 ? now - this.#busySince : 0;
    if (ended >= Math.max(0.75 * this.#inUse, 1) || (ended > 0 && busyMs >= LONGEST_MS)) {
      const usedMs = this.#older.usedMs + this.#newer.usedMs;
      const average = usedMs / Math.max(1, now - this.#older.since);
      return (ahead * usedMs) / ended / Math.max(this.#inUse, average, 1);
    }
    return ended === 0 && busyMs > this.#patienceMs ? Number.POSITIVE_INFINITY : undefined;
  }

  #count(): MonotonicMs {
    const now = this.#now();
    if (now - this.#countedAt >= 2 * LONGEST_MS) {
      // What ended before is too old.
      this.#older = { usedMs: this.#inUse * LONGEST_MS, ended: 0, since: now - LONGEST_MS };
      this.#newer = { usedMs: 0, ended: 0, since: now };
    } else {
      this.#newer.usedMs += this.#inUse * (now - this.#countedAt);
      const lastsMs = now - this.#newer.since;
      if (lastsMs >= (this.#newer.ended >= this.#inUse ? SHORTEST_MS : LONGEST_MS)) {
        this.#older = this.#newer;
        this.#newer = { usedMs: 0, ended: 0, since: now };
      }
    }
    this.#countedAt = now;
    return now;
  }
}
