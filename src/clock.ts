/** What a clock is built from. */
export interface ClockDependencies {
  /** The wall clock of this machine, epoch milliseconds: it may be set, forward or back, at any time. */
  readonly wall: () => number;
  /** Monotonic milliseconds, which may stand still while the machine is suspended. */
  readonly monotonic: () => number;
  /** Called when the time jumped, forward or back, by more than a second: earlier instants mean nothing any more. */
  readonly onJump: () => void;
}

/** A larger difference is a jump, not drift. */
const JUMP_MS = 1000;

const LOOK_AT_WALL_EVERY_MS = 1000;

const ASK_SERVER_EVERY_MS = 10_000;

/**
 * A sample is off by at most half its round trip; one that took longer than this may be worse than the previous one.
 */
const SLOW_ROUND_TRIP_MS = 50;

/**
 * The time that all instants are given in: the monotonic clock plus an offset to the epoch. So setting the wall clock
 * back makes no entry live longer.
 *
 * - Without a server, or before it has answered, the offset is that of the wall clock, measured at the start. It is
 *   measured again each second and corrected when it is off by more than a second: then the wall clock was set, or the
 *   machine was suspended, which the monotonic clock does not count.
 * - With a server the offset is that of the server's time, which is the same for all instances. After a jump of the
 *   wall clock the server is asked again; while it does not answer, the last known offset holds.
 *
 * Each jump is reported, so that entries from before it can be thrown away.
 */
export class Clock {
  readonly #dependencies: ClockDependencies;
  readonly #timers: readonly NodeJS.Timeout[];
  #wallOffsetMs: number;
  #offsetMs: number;
  #serverTime: (() => Promise<number | undefined>) | undefined;
  #knowsServer = false;

  /** Looks at the wall clock every second. */
  constructor(dependencies: ClockDependencies) {
    this.#dependencies = dependencies;
    this.#wallOffsetMs = dependencies.wall() - dependencies.monotonic();
    this.#offsetMs = this.#wallOffsetMs;
    this.#timers = [
      setInterval(() => this.#lookAtWall(), LOOK_AT_WALL_EVERY_MS).unref(),
      setInterval(() => void this.askServer(), ASK_SERVER_EVERY_MS).unref(),
    ];
  }

  /** Epoch milliseconds, with fractions. */
  readonly now = (): number => this.#dependencies.monotonic() + this.#offsetMs;

  /** How far this clock is ahead of the machine's wall clock, in milliseconds. */
  get aheadOfWallMs(): number {
    return this.now() - this.#dependencies.wall();
  }

  /**
   * Follows the time of a server from now on, and asks for it every 10 s and at each {@link askServer}. `serverTime`
   * gives it in epoch milliseconds, or `undefined` where it cannot be known.
   */
  followServer(serverTime: () => Promise<number | undefined>): void {
    this.#serverTime = serverTime;
  }

  /**
   * Asks the server for its time. Call this after each connect, which may have led to another server. Never rejects;
   * does nothing where no server is followed.
   */
  async askServer(): Promise<void> {
    const { monotonic } = this.#dependencies;
    const sentAt = monotonic();
    const serverTime = await this.#serverTime?.().catch(() => undefined);
    if (serverTime === undefined) return;
    const roundTripMs = monotonic() - sentAt;
    const offsetMs = serverTime + roundTripMs / 2 - monotonic();
    // A slow sample that agrees with the known offset does not improve it. One that disagrees proves the offset wrong:
    // a clock was set, or this is another server.
    const agrees = Math.abs(offsetMs - this.#offsetMs) <= roundTripMs / 2;
    if (this.#knowsServer && roundTripMs > SLOW_ROUND_TRIP_MS && agrees) return;
    this.#knowsServer = true;
    const jumped = Math.abs(offsetMs - this.#offsetMs) > JUMP_MS;
    this.#offsetMs = offsetMs;
    if (jumped) this.#dependencies.onJump();
  }

  /** Stops both timers. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #lookAtWall(): void {
    const { wall, monotonic, onJump } = this.#dependencies;
    const wallOffsetMs = wall() - monotonic();
    if (Math.abs(wallOffsetMs - this.#wallOffsetMs) <= JUMP_MS) return;
    this.#wallOffsetMs = wallOffsetMs;
    if (this.#knowsServer) void this.askServer();
    else this.#offsetMs = wallOffsetMs;
    onJump();
  }
}
