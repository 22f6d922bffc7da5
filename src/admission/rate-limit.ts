import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * A turn reserved for one request, `waitMs` away (a little less than 0 when it is overdue); or `too-long` when the next free
 * one is further away than allowed.
 */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: Ms };

/**
 * Reserves the next free turn among all instances that share the rate, if it is at most `longestWaitMs` away, or was free
 * at most `overdueMs` ago. When that is not possible (`undefined`), this instance keeps to the whole rate by itself. Never
 * rejects.
 */
export type ReserveShared = (stepMs: Ms, longestWaitMs: Ms, overdueMs: Ms) => Promise<Reserved | undefined>;

export interface RateLimitDependencies {
  /** Absent where instances do not share the rate. */
  readonly reserveShared?: ReserveShared | undefined;
  readonly now: () => MonotonicMs;
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
  /** No turn is reserved that is further away. */
  readonly longestWaitMs: Ms;
}

/** A turn that has come, or was given back, may be taken for so long; then it is lost. */
const KEPT_MS: Ms = 20;

/** Turns of so long ago are given to those who have waited for them: timers and event loops are slow. */
const LATEST_MS: Ms = 250;

/**
 * Limits requests to a rate, in even steps (GCRA, the generic cell rate algorithm, without bursts):
 *
 *   turn = max(now, next free); next free = turn + step; step = 1000 / perSecond
 *
 * This instance has one turn at most: none, one that is being reserved, or one that is reserved for an instant. Nobody
 * owns it. When it comes, those who want it decide who takes it, and only then is the next one reserved. So a request
 * that leaves costs nothing, and when all have left one turn is lost.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: Ms;
  /** The last turn that was taken here. */
  #lastAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The turn that is reserved, and until when it may be taken once it has come. */
  #turnAt: MonotonicMs | undefined;
  #turnUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #isReserving = false;
  /** Runs until the reserved turn comes. */
  #timer: NodeJS.Timeout | undefined;
  /** Until then somebody may take a turn that was given back. */
  #givenBackUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** From one turn of this instance to the next: longer than a step where others reserve those between. */
  #perTurnMs: Ms;
  #onTurn: (() => void) | undefined;
  /** Whether a turn has just come to those who waited for it. */
  #hasCome = false;
  #takesNext: (() => void) | undefined;

  constructor(dependencies: RateLimitDependencies) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / dependencies.perSecond;
    this.#perTurnMs = this.#stepMs;
  }

  /** Whether a turn is here to be taken. */
  get isHere(): boolean {
    const now = this.#dependencies.now();
    if (now < this.#givenBackUntil) return true;
    if (this.#isComing) return false;
    if (this.#turnAt !== undefined && now < this.#turnUntil) return true;
    return this.#dependencies.reserveShared === undefined && now >= this.#lastAt + this.#stepMs;
  }

  /** Whether {@link takeFree} may succeed: a turn is here, or nobody here wants one and Redis knows. */
  get mayBeFree(): boolean {
    return this.isHere || (this.#dependencies.reserveShared !== undefined && !this.#isComing);
  }

  /** How long a request waits for its turn with so many others before it, as far as is known. */
  expectedWaitMs(ahead: number): Ms {
    const nextAt = this.#turnAt ?? this.#lastAt + this.#perTurnMs;
    const nextMs = this.isHere ? 0 : Math.max(0, nextAt - this.#dependencies.now());
    return nextMs + ahead * this.#perTurnMs;
  }

  /** Takes the turn that is here. */
  take(): void {
    const now = this.#dependencies.now();
    if (now < this.#givenBackUntil) {
      this.#givenBackUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    const turnAt = now < this.#turnUntil ? this.#turnAt : undefined;
    this.#lastAt = turnAt ?? this.#freeAt();
    this.#turnAt = undefined;
  }

  /** A turn that was just taken was not used: somebody else may take it, if at once. */
  giveBack(): void {
    this.#givenBackUntil = this.#dependencies.now() + KEPT_MS;
    this.#giveToFirst();
  }

  /**
   * Whether a turn is here. If not, one is reserved, and `onTurn` is called when it has come, or when it may be worth
   * asking again.
   */
  want(onTurn: () => void): boolean {
    this.#onTurn = onTurn;
    if (!this.isHere && !this.#isComing) this.#bring();
    return this.isHere;
  }

  /** Takes a turn if one is free at once. */
  async takeFree(): Promise<boolean> {
    const { reserveShared, now } = this.#dependencies;
    if (this.isHere) {
      this.take();
      return true;
    }
    if (!this.mayBeFree) return false;
    const reserved = await reserveShared?.(this.#stepMs, 0, 0);
    const freeAt = this.#freeAt();
    const isFree = reserved === undefined ? freeAt <= now() && !this.#isComing : reserved.state === 'reserved';
    if (isFree) this.#lastAt = freeAt;
    return isFree;
  }

  /** Takes the next turn, before those who {@link want} one; `false` if another one waits for that. */
  takeNext(): Promise<boolean> {
    if (this.#takesNext !== undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#takesNext = () => resolve(true);
      if (!this.isHere && !this.#isComing) this.#bring();
      this.#giveToFirst();
    });
  }

  get #isComing(): boolean {
    return this.#isReserving || this.#timer !== undefined;
  }

  /** Who did not wait gets no turn of before: steps stay even. */
  get #overdueMs(): Ms {
    return this.#hasCome ? LATEST_MS : 0;
  }

  /** When the next turn is free, by what is known here. */
  #freeAt(): MonotonicMs {
    return Math.max(this.#lastAt + this.#stepMs, this.#now() - this.#overdueMs);
  }

  /** A timer may end a little before the clock says so: the last turn has come in any case. */
  #now(): MonotonicMs {
    return Math.max(this.#dependencies.now(), this.#lastAt);
  }

  #bring(): void {
    this.#turnAt = undefined;
    if (this.#lastAt + this.#perTurnMs < this.#now()) this.#perTurnMs = this.#stepMs;
    if (this.#dependencies.reserveShared === undefined) this.#expect(this.#freeAt());
    else void this.#reserve(this.#dependencies.reserveShared);
  }

  async #reserve(reserveShared: ReserveShared): Promise<void> {
    const { longestWaitMs } = this.#dependencies;
    this.#isReserving = true;
    const reserved = await reserveShared(this.#stepMs, longestWaitMs, this.#overdueMs);
    this.#isReserving = false;
    const { state, waitMs } = reserved ?? { state: 'alone', waitMs: this.#freeAt() - this.#now() };
    this.#perTurnMs = Math.max(this.#stepMs, waitMs);
    if (state === 'too-long') {
      this.#turnAt = this.#now() + waitMs;
      this.#timer = setTimeout(() => this.#askAgain(), Math.ceil(waitMs - longestWaitMs)).unref();
      return;
    }
    this.#expect(this.#now() + waitMs);
    if (!this.#isComing) this.#come();
  }

  #expect(turnAt: MonotonicMs): void {
    const waitMs = turnAt - this.#now();
    this.#turnAt = turnAt;
    this.#turnUntil = this.#dependencies.now() + KEPT_MS;
    if (waitMs > 0) this.#timer = setTimeout(() => this.#come(), Math.ceil(waitMs)).unref();
  }

  #askAgain(): void {
    this.#turnAt = undefined;
    this.#come();
  }

  #come(): void {
    this.#timer = undefined;
    this.#turnUntil = this.#dependencies.now() + KEPT_MS;
    this.#giveToFirst();
    this.#hasCome = true;
    this.#onTurn?.();
    this.#hasCome = false;
    if (this.#takesNext !== undefined && !this.#isComing) this.#bring();
  }

  #giveToFirst(): void {
    if (this.#takesNext === undefined || !this.isHere) return;
    this.take();
    this.#takesNext();
    this.#takesNext = undefined;
  }
}
