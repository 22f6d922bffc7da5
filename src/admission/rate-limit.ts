import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * A reservation for one request, `waitMs` away (slightly below 0 when it is overdue); or `too-long` when the next free
 * one is further away than allowed.
 */
export type Reserved = { readonly state: 'reserved' | 'too-long'; readonly waitMs: Ms };

/**
 * Reserves the next free instant among all instances that share the rate, if it is at most `longestWaitMs` away. The
 * reserved instant is at most `overdueMs` in the past: earlier ones are lost. Resolves with `undefined` if Redis fails:
 * then this instance uses the whole rate alone. Never rejects.
 */
export type ReserveShared = (stepMs: Ms, longestWaitMs: Ms, overdueMs: Ms) => Promise<Reserved | undefined>;

export interface RateLimitDependencies {
  /** Absent if instances do not share the rate. */
  readonly reserveShared?: ReserveShared | undefined;
  readonly now: () => MonotonicMs;
  /** Requests a second, a whole number from 1 up. */
  readonly perSecond: number;
  /** The maximum distance of a reservation. */
  readonly longestWaitMs: Ms;
}

/** A reservation whose time has come, or that was given back, may be used for this long; then it is lost. */
const KEPT_MS: Ms = 20;

/** Waiters may use a reservation that is overdue by this much: timers and event loops are slow. */
const LATEST_MS: Ms = 250;

/**
 * The mean time between reservations is measured over this time: an instance that reserves several has them in a row.
 */
const MEAN_OF_MS: Ms = 500;

/** The maximum number of reservations at once, however distant Redis is. */
const MOST_RESERVED = 64;

/**
 * The number of reservations that an instance may hold: enough that one that is requested now arrives in time to follow
 * the last of them. 1 if a round trip to Redis is shorter than a step.
 */
export function mostReserved(stepMs: Ms, roundTripMs: Ms): number {
  return Math.min(MOST_RESERVED, 1 + Math.floor(roundTripMs / stepMs));
}

/** Takes the next reservation, ahead of the backlog. */
interface Taker {
  readonly isWanted: () => boolean;
  readonly end: (hasReservation: boolean) => void;
}

/**
 * Gives up bursts: of ten requests that come at once, the last one waits for nine steps, although a token bucket would
 * send all ten. Gives up the reservations of one round trip to Redis when all waiters leave. For that the rate holds in
 * every second and over all instances (a provider answers one request above it with 429, for everybody), no request that
 * leaves has used any of it, and the order of clients is decided when a request is sent, not when it came.
 *
 * Limits requests to a rate, in even steps (GCRA, the generic cell rate algorithm, without bursts):
 *
 *   reservation = max(now, next free); next free = reservation + step; step = 1000 / perSecond
 *
 * This instance holds one reservation at a time. If instances share the rate and enough requests wait, it holds as many
 * as one round trip to Redis takes. Nobody owns a reservation. When its time comes, the waiters decide which of them
 * uses it, and only then the next one is reserved. So a request that leaves costs nothing, and when all leave, the
 * reservations of one round trip are lost.
 *
 * Whatever Redis answers, the reservations of one instance are a step apart: a clock of Redis that is set forward, or a
 * Redis that has lost its data, costs each instance one round trip at most.
 */
export class RateLimit {
  readonly #dependencies: RateLimitDependencies;
  readonly #stepMs: Ms;
  /** The last reservation that was used here. */
  #lastAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The reservation that came last, and the end of its use. */
  #hereAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #hereUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The reservations that have not come yet, the next one first. */
  readonly #coming: MonotonicMs[] = [];
  /** The number of reservations being made. */
  #reserving = 0;
  /** Runs until the next reservation comes, or until another request to Redis may succeed. */
  #timer: NodeJS.Timeout | undefined;
  /** The next free instant, if it was too far away to be reserved and there is no reservation. */
  #tooFarAt: MonotonicMs | undefined;
  /** The time from a reservation until Redis has made the next one: the longest recent time. */
  #roundTripMs: Ms = 0;
  /** A reservation that was given back may be used until then. */
  #givenBackUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The last reservations made here, in order. */
  readonly #recent: MonotonicMs[] = [];
  #onReservation: (() => void) | undefined;
  /** The number of waiters for {@link #onReservation}, at the last report. */
  #waiting = 0;
  /** True if a reservation has just come for those that waited for it. */
  #hasCome = false;
  readonly #takers: Taker[] = [];

  constructor(dependencies: RateLimitDependencies) {
    this.#dependencies = dependencies;
    this.#stepMs = 1000 / dependencies.perSecond;
  }

  /** True if a reservation can be used now. */
  get isHere(): boolean {
    const now = this.#dependencies.now();
    if (now < this.#givenBackUntil || now < this.#hereUntil) return true;
    return this.#dependencies.reserveShared === undefined && !this.#isComing && now >= this.#lastAt + this.#stepMs;
  }

  /** True if {@link take} may succeed: a reservation can be used, or nobody here wants one and only Redis knows. */
  get mayBeFree(): boolean {
    return this.isHere || (this.#dependencies.reserveShared !== undefined && !this.#isComing);
  }

  /** The known wait of a request for its reservation, behind `ahead` others. */
  expectedWaitMs(ahead: number): Ms {
    const nextAt = this.#coming[0] ?? this.#tooFarAt ?? this.#lastAt + this.#perReservationMs;
    const nextMs = this.isHere ? 0 : Math.max(0, nextAt - this.#dependencies.now());
    return nextMs + (ahead + this.#takers.length) * this.#perReservationMs;
  }

  /**
   * Takes a reservation, for a request that has just seen that one can be used ({@link isHere}, {@link want}), or that
   * one may be free ({@link mayBeFree}): then only Redis knows, and resolves with `false` if none is free.
   */
  take(): true | Promise<boolean> {
    if (!this.isHere && this.mayBeFree) return this.#takeFromRedis();
    this.#waiting = Math.max(0, this.#waiting - 1);
    this.#use();
    return true;
  }

  /** A reservation that was just taken was not used: another request may use it immediately. */
  giveBack(): void {
    this.#givenBackUntil = this.#dependencies.now() + KEPT_MS;
    this.#giveToTakers();
  }

  /**
   * Returns true if a reservation can be used now. Otherwise makes one, or as many as a round trip needs if enough
   * requests are `waiting`. Calls `onReservation` when one has come, or when another try may succeed.
   */
  want(onReservation: () => void, waiting: number): boolean {
    this.#onReservation = onReservation;
    this.#waiting = waiting;
    if (!this.isHere) this.#bring();
    return this.isHere;
  }

  /**
   * Takes the next reservation, ahead of those who {@link want} one, and after earlier callers of this method. `false`
   * if it is no longer wanted when it comes; another request then gets it.
   */
  takeNext(isWanted = (): boolean => true): Promise<boolean> {
    return new Promise((end) => {
      this.#takers.push({ isWanted, end });
      if (!this.isHere) this.#bring();
      this.#giveToTakers();
    });
  }

  /**
   * The average time between two reservations of this instance: longer than a step if other instances reserve those
   * between.
   */
  get #perReservationMs(): Ms {
    const [first, last, gaps] = [this.#recent[0], this.#recent.at(-1), this.#recent.length - 1];
    return first === undefined || last === undefined || gaps < 1
      ? this.#stepMs
      : Math.max(this.#stepMs, (last - first) / gaps);
  }

  get #isComing(): boolean {
    return this.#reserving > 0 || this.#timer !== undefined;
  }

  /** A request that did not wait gets no overdue reservation: steps stay even. */
  get #overdueMs(): Ms {
    return this.#hasCome ? LATEST_MS : 0;
  }

  /** The last reservation that this instance has had or will have. */
  get #latestAt(): MonotonicMs {
    return this.#coming.at(-1) ?? (this.#dependencies.now() < this.#hereUntil ? this.#hereAt : this.#lastAt);
  }

  /** When the next reservation is free, as far as this instance knows. */
  #freeAt(): MonotonicMs {
    return Math.max(this.#latestAt + this.#stepMs, this.#now() - this.#overdueMs);
  }

  /** A timer may end slightly before the clock reaches its time: the last reservation has come in any case. */
  #now(): MonotonicMs {
    return Math.max(this.#dependencies.now(), this.#lastAt, this.#hereAt);
  }

  /** Makes the reservations that are wanted and not made yet. */
  #bring(overdueMs = this.#overdueMs): void {
    if (this.#tooFarAt !== undefined) return;
    const { reserveShared } = this.#dependencies;
    if (!this.#isComing && this.#lastAt + this.#perReservationMs < this.#now()) this.#recent.length = 0;
    const most = reserveShared === undefined ? 1 : mostReserved(this.#stepMs, this.#roundTripMs);
    const wanted = Math.min(most, this.#waiting + this.#takers.length);
    while (this.#coming.length + this.#reserving < wanted) {
      if (reserveShared !== undefined) void this.#reserve(reserveShared, overdueMs);
      else {
        this.#coming.push(this.#freeAt());
        this.#await();
      }
    }
  }

  async #reserve(reserveShared: ReserveShared, overdueMs: Ms): Promise<void> {
    const { longestWaitMs, now } = this.#dependencies;
    // The event loop and its timers may notice a reservation some time after its instant.
    const since = this.#hasCome ? Math.min(this.#hereAt, now()) : now();
    this.#reserving++;
    const reserved = await reserveShared(this.#stepMs, longestWaitMs, overdueMs);
    this.#reserving--;
    // Rises immediately and falls slowly: a reservation that is not made in time is lost, one too many only comes a step
    // later.
    const ms = now() - since;
    if (reserved !== undefined) this.#roundTripMs = Math.max(ms, this.#roundTripMs + (ms - this.#roundTripMs) / 8);
    const nowAt = this.#now();
    if (reserved?.state === 'too-long') {
      this.#isTooFar(nowAt + reserved.waitMs);
      return;
    }
    const freeAt = reserved === undefined ? nowAt : nowAt + reserved.waitMs;
    const reservedFor = Math.max(this.#latestAt + this.#stepMs, freeAt);
    this.#count(reservedFor);
    this.#coming.push(reservedFor);
    this.#await();
    // Those that still wait have waited for this answer of Redis, however slow it was.
    this.#bring(LATEST_MS);
  }

  /**
   * Counts a new reservation: its distance from the earlier ones shows how many other instances reserve between them.
   */
  #count(reservedFor: MonotonicMs): void {
    const recent = this.#recent;
    if (recent.length === 0) recent.push(this.#now());
    if (reservedFor > (recent.at(-1) ?? reservedFor)) recent.push(reservedFor);
    while (recent.length > 2 && reservedFor - (recent[1] ?? reservedFor) > MEAN_OF_MS) recent.shift();
  }

  /**
   * The next free instant is too far away: tries again when it may be near enough, unless other reservations come
   * first.
   */
  #isTooFar(freeAt: MonotonicMs): void {
    if (this.#isComing) return;
    this.#tooFarAt = freeAt;
    const askAgain = () => {
      this.#timer = undefined;
      this.#tooFarAt = undefined;
      this.#offer();
    };
    const waitMs = freeAt - this.#now() - this.#dependencies.longestWaitMs;
    this.#timer = setTimeout(askAgain, Math.ceil(waitMs)).unref();
  }

  /** Waits for the next reservation, unless a wait is under way or it is here. */
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

  /** Lets the waiters use a reservation, and makes those that are wanted then. */
  #offer(): void {
    this.#hasCome = true;
    this.#giveToTakers();
    this.#waiting = 0;
    this.#onReservation?.();
    this.#bring();
    this.#hasCome = false;
  }

  async #takeFromRedis(): Promise<boolean> {
    const { reserveShared, now } = this.#dependencies;
    const reserved = await reserveShared?.(this.#stepMs, 0, 0);
    const freeAt = this.#freeAt();
    const isFree = reserved === undefined ? freeAt <= now() && !this.#isComing : reserved.state === 'reserved';
    if (isFree) this.#lastAt = freeAt;
    return isFree;
  }

  /** Uses the reservation that is here. */
  #use(): void {
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
      if (isWanted) this.#use();
      taker?.end(isWanted);
    }
  }
}
