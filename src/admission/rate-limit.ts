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

/** The mean time between turns is that of so long a time: instances that reserve several each have them in a row. */
const MEAN_OF_MS: Ms = 500;

/** However far away Redis is, no instance asks it for more turns at once. */
const MOST_RESERVED = 64;

/**
 * How many turns an instance may have reserved: so many that the last one comes when one that is asked for now can be here.
 * One where a round trip to Redis is shorter than a step.
 */
export function mostReserved(stepMs: Ms, roundTripMs: Ms): number {
  return Math.min(MOST_RESERVED, 1 + Math.floor(roundTripMs / stepMs));
}

/** Somebody who takes the next turn, before all who wait in the backlog. */
interface Taker {
  readonly isWanted: () => boolean;
  readonly end: (hasTurn: boolean) => void;
}

/**
 * Limits requests to a rate, in even steps (GCRA, the generic cell rate algorithm, without bursts):
 *
 *   turn = max(now, next free); next free = turn + step; step = 1000 / perSecond
 *
 * This instance reserves one turn at a time; where instances share the rate, as many as it takes until Redis answers, if so
 * many requests wait. Nobody owns a turn. When it comes, those who want it decide who takes it, and only then is another one
 * reserved. So a request that leaves costs nothing, and when all have left, the turns of one round trip are lost.
 *
 * Whatever Redis answers, the turns of one instance are a step apart: a clock of Redis that is set forward, or a Redis that
 * has lost its data, costs one round trip of each instance at most.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: Ms;
  /** The last turn that was taken here. */
  #lastAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The turn that came last, and until when it may be taken. */
  #hereAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #hereUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The turns that are reserved and have not come yet, the next one first. */
  readonly #coming: MonotonicMs[] = [];
  /** How many turns are being reserved. */
  #reserving = 0;
  /** Runs until the next reserved turn comes, or until it may be worth asking Redis again. */
  #timer: NodeJS.Timeout | undefined;
  /** The next free turn, if it was too far away to be reserved and no other is. */
  #tooFarAt: MonotonicMs | undefined;
  /** How long it takes from a turn until Redis has reserved another one: the longest of the recent times. */
  #roundTripMs: Ms = 0;
  /** Until then somebody may take a turn that was given back. */
  #givenBackUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The last turns that were reserved here, one after the other. */
  readonly #recent: MonotonicMs[] = [];
  #onTurn: (() => void) | undefined;
  /** How many wait for {@link #onTurn}, when they last said so. */
  #waiting = 0;
  /** Whether a turn has just come to those who waited for it. */
  #hasCome = false;
  readonly #takers: Taker[] = [];

  constructor(dependencies: RateLimitDependencies) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / dependencies.perSecond;
  }

  /** Whether a turn is here to be taken. */
  get isHere(): boolean {
    const now = this.#dependencies.now();
    if (now < this.#givenBackUntil || now < this.#hereUntil) return true;
    return this.#dependencies.reserveShared === undefined && !this.#isComing && now >= this.#lastAt + this.#stepMs;
  }

  /** Whether {@link takeFree} may succeed: a turn is here, or nobody here wants one and Redis knows. */
  get mayBeFree(): boolean {
    return this.isHere || (this.#dependencies.reserveShared !== undefined && !this.#isComing);
  }

  /** How long a request waits for its turn with so many others before it, as far as is known. */
  expectedWaitMs(ahead: number): Ms {
    const nextAt = this.#coming[0] ?? this.#tooFarAt ?? this.#lastAt + this.#perTurnMs;
    const nextMs = this.isHere ? 0 : Math.max(0, nextAt - this.#dependencies.now());
    return nextMs + (ahead + this.#takers.length) * this.#perTurnMs;
  }

  /** Takes the turn that is here, for one of those who {@link want} one. */
  take(): void {
    this.#waiting = Math.max(0, this.#waiting - 1);
    this.#take();
  }

  /** A turn that was just taken was not used: somebody else may take it, if at once. */
  giveBack(): void {
    this.#givenBackUntil = this.#dependencies.now() + KEPT_MS;
    this.#giveToTakers();
  }

  /**
   * Whether a turn is here. If not, one is reserved, or as many as a round trip needs if so many are `waiting`; and `onTurn`
   * is called when one has come, or when it may be worth asking again.
   */
  want(onTurn: () => void, waiting: number): boolean {
    this.#onTurn = onTurn;
    this.#waiting = waiting;
    if (!this.isHere) this.#bring();
    return this.isHere;
  }

  /** Takes a turn if one is free at once. */
  async takeFree(): Promise<boolean> {
    const { reserveShared, now } = this.#dependencies;
    if (this.isHere) {
      this.#take();
      return true;
    }
    if (!this.mayBeFree) return false;
    const reserved = await reserveShared?.(this.#stepMs, 0, 0);
    const freeAt = this.#freeAt();
    const isFree = reserved === undefined ? freeAt <= now() && !this.#isComing : reserved.state === 'reserved';
    if (isFree) this.#lastAt = freeAt;
    return isFree;
  }

  /**
   * Takes the next turn, before those who {@link want} one, and after those who have called this before. `false` if it is not
   * wanted any more when the turn comes, which then goes to another one.
   */
  takeNext(isWanted = (): boolean => true): Promise<boolean> {
    return new Promise((end) => {
      this.#takers.push({ isWanted, end });
      if (!this.isHere) this.#bring();
      this.#giveToTakers();
    });
  }

  /** From one turn of this instance to the next, on average: longer than a step where others reserve those between. */
  get #perTurnMs(): Ms {
    const [first, last, gaps] = [this.#recent[0], this.#recent.at(-1), this.#recent.length - 1];
    return first === undefined || last === undefined || gaps < 1
      ? this.#stepMs
      : Math.max(this.#stepMs, (last - first) / gaps);
  }

  get #isComing(): boolean {
    return this.#reserving > 0 || this.#timer !== undefined;
  }

  /** Who did not wait gets no turn of before: steps stay even. */
  get #overdueMs(): Ms {
    return this.#hasCome ? LATEST_MS : 0;
  }

  /** The last turn that this instance has had or will have. */
  get #latestAt(): MonotonicMs {
    return this.#coming.at(-1) ?? (this.#dependencies.now() < this.#hereUntil ? this.#hereAt : this.#lastAt);
  }

  /** When the next turn is free, by what is known here. */
  #freeAt(): MonotonicMs {
    return Math.max(this.#latestAt + this.#stepMs, this.#now() - this.#overdueMs);
  }

  /** A timer may end a little before the clock says so: the last turn has come in any case. */
  #now(): MonotonicMs {
    return Math.max(this.#dependencies.now(), this.#lastAt, this.#hereAt);
  }

  /** Reserves the turns that are wanted, if they are not reserved yet. */
  #bring(overdueMs = this.#overdueMs): void {
    if (this.#tooFarAt !== undefined) return;
    const { reserveShared } = this.#dependencies;
    if (!this.#isComing && this.#lastAt + this.#perTurnMs < this.#now()) this.#recent.length = 0;
    const most = reserveShared === undefined ? 1 : mostReserved(this.#stepMs, this.#roundTripMs);
    const wanted = Math.min(most, this.#waiting + this.#takers.length);
    while (this.#coming.length + this.#reserving < wanted) {
      if (reserveShared === undefined) this.#expect(this.#freeAt());
      else void this.#reserve(reserveShared, overdueMs);
    }
  }

  async #reserve(reserveShared: ReserveShared, overdueMs: Ms): Promise<void> {
    const { longestWaitMs, now } = this.#dependencies;
    // The event loop and its timers may have noticed the turn that has come some time after its instant.
    const since = this.#hasCome ? Math.min(this.#hereAt, now()) : now();
    this.#reserving++;
    const reserved = await reserveShared(this.#stepMs, longestWaitMs, overdueMs);
    this.#reserving--;
    if (reserved !== undefined) this.#tookMs(now() - since);
    const nowAt = this.#now();
    if (reserved?.state === 'too-long') {
      this.#isTooFar(nowAt + reserved.waitMs);
      return;
    }
    const freeAt = reserved === undefined ? nowAt : nowAt + reserved.waitMs;
    const turnAt = Math.max(this.#latestAt + this.#stepMs, freeAt);
    this.#count(turnAt);
    this.#expect(turnAt);
    // Those who still wait have waited for this answer of Redis, however slow it was.
    this.#bring(LATEST_MS);
  }

  /** Rises at once and falls slowly: a turn that is not reserved in time is lost, one too many only comes a step later. */
  #tookMs(ms: Ms): void {
    this.#roundTripMs = Math.max(ms, this.#roundTripMs + (ms - this.#roundTripMs) / 8);
  }

  /** Counts a turn that was reserved: its distance from those before it says how many others reserve between them. */
  #count(turnAt: MonotonicMs): void {
    const recent = this.#recent;
    if (recent.length === 0) recent.push(this.#now());
    if (turnAt > (recent.at(-1) ?? turnAt)) recent.push(turnAt);
    while (recent.length > 2 && turnAt - (recent[1] ?? turnAt) > MEAN_OF_MS) recent.shift();
  }

  /** The next free turn is too far away: asked for again when it may be near enough, unless other turns come before. */
  #isTooFar(freeAt: MonotonicMs): void {
    if (this.#isComing) return;
    this.#tooFarAt = freeAt;
    const waitMs = freeAt - this.#now() - this.#dependencies.longestWaitMs;
    this.#timer = setTimeout(() => this.#askAgain(), Math.ceil(waitMs)).unref();
  }

  #askAgain(): void {
    this.#timer = undefined;
    this.#tooFarAt = undefined;
    this.#offer();
  }

  #expect(turnAt: MonotonicMs): void {
    this.#coming.push(turnAt);
    this.#await();
  }

  /** Waits for the next reserved turn, unless that is waited for already or it is here. */
  #await(): void {
    const [next] = this.#coming;
    if (next === undefined || this.#timer !== undefined) return;
    const waitMs = next - this.#now();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#come(), Math.ceil(waitMs)).unref();
    else this.#come();
  }

  #come(): void {
    this.#timer = undefined;
    this.#hereAt = this.#coming.shift() ?? this.#hereAt;
    this.#hereUntil = this.#dependencies.now() + KEPT_MS;
    this.#offer();
    this.#await();
  }

  /** Lets those who want a turn take one, and reserves those that are wanted then. */
  #offer(): void {
    this.#hasCome = true;
    this.#giveToTakers();
    this.#waiting = 0;
    this.#onTurn?.();
    this.#bring();
    this.#hasCome = false;
  }

  #take(): void {
    const now = this.#dependencies.now();
    if (now < this.#givenBackUntil) {
      this.#givenBackUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#lastAt = now < this.#hereUntil ? this.#hereAt : this.#freeAt();
    this.#hereUntil = Number.NEGATIVE_INFINITY;
  }

  #giveToTakers(): void {
    while (this.#takers.length > 0 && this.isHere) {
      const taker = this.#takers.shift();
      const isWanted = taker?.isWanted() === true;
      if (isWanted) this.#take();
      taker?.end(isWanted);
    }
  }
}
