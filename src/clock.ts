/** What a clock is built from. */
export interface ClockDependencies {
  /** The wall clock of this machine, epoch milliseconds: it may be set, forward or back, at any time. */
  readonly wall: () => number;
  /** Monotonic milliseconds, which may stand still while the machine is suspended. */
  readonly monotonic: () => number;
  /** Called when the time jumped, forward or back, by more than a second: instants from before are meaningless now. */
  readonly onJump: () => void;
}

/** A difference larger than this is a jump and no drift. */
const JUMP_MS = 1000;

const LOOK_AT_WALL_EVERY_MS = 1000;

const ASK_SERVER_EVERY_MS = 10_000;

/** A sample is off by at most half its round trip; one that took longer than this may be worse than the one before. */
const SLOW_ROUND_TRIP_MS = 50;

/**
 * The time that instants are dated in: the monotonic clock plus a fixed offset to the epoch. Setting the wall clock back
 * therefore makes no entry live longer.
 *
 * - Without a server, or before it has answered, the difference is that of the wall clock, measured at the start. It is
 *   measured again each second and corrected when it is off by more than a second: the wall clock was set, or the
 *   machine was suspended, which the monotonic clock does not count.
 * - With a server the difference is measured at the server, which is the same for all instances whatever their own clocks
 *   say. A jump of the wall clock says only that the server has to be asked again; if it cannot be, what was last known
 *   holds.
 *
 * Each jump is reported, so that what was dated before can be thrown away.
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

  /** How far it is ahead of the wall clock of this machine, in milliseconds. */
  get aheadOfWallMs(): number {
    return this.now() - this.#dependencies.wall();
  }

  /**
   * Follows a server from now on: it is asked every 10 s, the first time when {@link askServer} is called. `serverTime`
   * gives its time in epoch milliseconds, or `undefined` where that cannot be known.
   */
  followServer(serverTime: () => Promise<number | undefined>): void {
    this.#serverTime = serverTime;
  }

  /**
   * Asks the server for its time. To be called when a connection was made, which may lead to another server. Never
   * rejects, and does nothing where no server is followed.
   */
  async askServer(): Promise<void> {
    const { monotonic } = this.#dependencies;
    const sentAt = monotonic();
    const serverTime = await this.#serverTime?.().catch(() => undefined);
    if (serverTime === undefined) return;
    const roundTripMs = monotonic() - sentAt;
    const offsetMs = serverTime + roundTripMs / 2 - monotonic();
    // A slow sample that agrees with the known offset is no better than it. One that disagrees proves it wrong: a clock
    // was set, or this is another server.
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
