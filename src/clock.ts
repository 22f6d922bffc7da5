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

/** A sample with a shorter round trip is taken as it is: it is off by half of that at most. */
const QUICK_ROUND_TRIP_MS = 5;

/** How often the server is asked in a row for a quick sample. */
const MOST_TRIES = 5;

/**
 * The time that all instants are given in: the monotonic clock plus an offset to the epoch. So setting the wall clock
 * back makes no entry live longer.
 *
 * - Without a server, or before it has answered, the offset is that of the wall clock, measured at the start. It is
 *   measured again each second and corrected when it is off by more than a second: then the wall clock was set, or the
 *   machine was suspended, which the monotonic clock does not count.
 * - With a server the offset is that of the server's time, which is the same for all instances. Each sample bounds it:
 *   server time - receipt <= offset <= server time - sending. A quick sample sets it to the middle; a slow one moves it
 *   only as far as these bounds demand, unless it proves that a clock was set. After a jump of the wall clock the server
 *   is asked again; while it does not answer, the last known offset holds.
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
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const roundTripMs = await this.#learnFromServer();
      if (roundTripMs === undefined || roundTripMs <= QUICK_ROUND_TRIP_MS) return;
    }
  }

  /** Takes one sample of the server's time; returns its round trip, in milliseconds, if the server answered. */
  async #learnFromServer(): Promise<number | undefined> {
    const { monotonic, onJump } = this.#dependencies;
    const sentAt = monotonic();
    const serverTime = await this.#serverTime?.().catch(() => undefined);
    if (serverTime === undefined) return undefined;
    const receivedAt = monotonic();
    // The server read its clock between these two, and nobody knows when: most of a slow round trip may lie on one side.
    const [least, most] = [serverTime - receivedAt, serverTime - sentAt];
    const isQuick = receivedAt - sentAt <= QUICK_ROUND_TRIP_MS;
    const wasSet = this.#offsetMs < least - JUMP_MS || this.#offsetMs > most + JUMP_MS;
    const isTaken = isQuick || wasSet || !this.#knowsServer;
    const offsetMs = isTaken ? (least + most) / 2 : Math.min(Math.max(this.#offsetMs, least), most);
    this.#knowsServer = true;
    const jumped = Math.abs(offsetMs - this.#offsetMs) > JUMP_MS;
    this.#offsetMs = offsetMs;
    if (jumped) onJump();
    return receivedAt - sentAt;
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
