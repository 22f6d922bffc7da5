import type { EpochMs, MonotonicMs, Ms } from './time-units.ts';

export interface ClockDependencies {
  /** The wall clock of this machine: it may be set, forward or back, at any time. */
  readonly wall: () => EpochMs;
  /** May stand still while the machine is suspended. */
  readonly monotonic: () => MonotonicMs;
}

/** A larger step forward is a jump, not drift. */
const JUMP_MS = 1000;

/**
 * A larger step back is a jump. Purges allow for this much (`exchange-bans.ts`): a later purge would not cover an
 * answer that was dated further ahead.
 */
const FURTHEST_BACK_MS = 5;

const LOOK_AT_WALL_EVERY_MS = 1000;

/** A clock is shared for this time after a sample of the server's time, and not before this time after a jump. */
const SHARED_FOR_MS: Ms = 2000;

/** The largest difference of two shared clocks: the longest round trip of a sample that makes one shared. */
export const SHARED_CLOCKS_DIFFER_BY_MS: Ms = 250;

/** A sample with a shorter round trip has an error of at most half of it: it sets the time. */
const QUICK_ROUND_TRIP_MS = 5;

/**
 * The time of all instants: the monotonic clock plus an offset to the epoch, so that setting the wall clock back makes
 * no entry live longer.
 *
 * - Until a server has answered, the offset is that of the wall clock at the start. The wall clock is compared every
 *   second: a difference of more than a second means that it was set, or that the machine was suspended.
 * - Each sample of a server's time bounds the offset: server time - receipt <= offset <= server time - sending. The
 *   first and each quick sample sets it to the middle, a slow one moves it only to these bounds. While the server does
 *   not answer, the last offset holds, whatever the wall clock shows.
 */
export class Clock {
  readonly #dependencies: ClockDependencies;
  readonly #timer: NodeJS.Timeout;
  #wallOffsetMs: Ms;
  #offsetMs: Ms;
  #knowsServer = false;
  #sharedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #jumpedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #jumped: () => void = () => {};

  constructor(dependencies: ClockDependencies) {
    this.#dependencies = dependencies;
    this.#wallOffsetMs = dependencies.wall() - dependencies.monotonic();
    this.#offsetMs = this.#wallOffsetMs;
    this.#timer = setInterval(() => this.#lookAtWall(), LOOK_AT_WALL_EVERY_MS).unref();
  }

  /** With fractions of a millisecond. */
  readonly now = (): EpochMs => this.#dependencies.monotonic() + this.#offsetMs;

  /** The lead of this clock over the machine's wall clock. */
  get aheadOfWallMs(): Ms {
    return this.now() - this.#dependencies.wall();
  }

  /**
   * True if a server has set this clock within the last 2 s, and it has not jumped since: then it differs from the other
   * clocks that this server has set by less than {@link SHARED_CLOCKS_DIFFER_BY_MS}.
   */
  get isShared(): boolean {
    const from = this.#dependencies.monotonic() - SHARED_FOR_MS;
    return this.#sharedAt > from && this.#jumpedAt <= from;
  }

  /**
   * Takes a server's time, which was requested at `sentAt` and has just arrived. From then on the server's time counts.
   */
  readonly learn = (serverTime: EpochMs, sentAt: MonotonicMs): void => {
    const receivedAt = this.#dependencies.monotonic();
    const [least, most] = [serverTime - receivedAt, serverTime - sentAt];
    const isSet = receivedAt - sentAt <= QUICK_ROUND_TRIP_MS || !this.#knowsServer;
    this.#knowsServer = true;
    if (receivedAt - sentAt <= SHARED_CLOCKS_DIFFER_BY_MS) this.#sharedAt = receivedAt;
    this.#setOffset(isSet ? (least + most) / 2 : Math.min(Math.max(this.#offsetMs, least), most));
  };

  /**
   * From now on calls this when the time jumped, forward by more than a second or back by more than 5 ms, or may have
   * jumped, because the wall clock did: earlier instants mean nothing. Call once, when everything that keeps instants is
   * built.
   */
  onJump(jumped: () => void): void {
    this.#jumped = jumped;
  }

  /** Stops comparing with the wall clock. */
  close(): void {
    clearInterval(this.#timer);
  }

  #setOffset(offsetMs: Ms): void {
    const aheadMs = offsetMs - this.#offsetMs;
    const jumped = aheadMs > JUMP_MS || aheadMs < -FURTHEST_BACK_MS;
    this.#offsetMs = offsetMs;
    if (jumped) this.#jump();
  }

  #lookAtWall(): void {
    const wallOffsetMs = this.#dependencies.wall() - this.#dependencies.monotonic();
    if (Math.abs(wallOffsetMs - this.#wallOffsetMs) <= JUMP_MS) return;
    this.#wallOffsetMs = wallOffsetMs;
    // The machine may have been suspended, so that entries are older than they look until the server's next answer.
    if (this.#knowsServer) this.#jump();
    else this.#setOffset(wallOffsetMs);
  }

  #jump(): void {
    this.#jumpedAt = this.#dependencies.monotonic();
    this.#jumped();
  }
}
