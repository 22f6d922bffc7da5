/** What a clock that follows Redis is built from. */
export interface ServerClockOptions {
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** Never read or written: in a Cluster its slot chooses the node whose clock counts for all instances. */
  readonly key: string;
  /** The wall clock of this machine, in epoch milliseconds. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Told when the time went on, or back, by more than a second: what was written in the old one says nothing now. */
  readonly onJump: () => void;
}

/** Machines that keep the time are nearer to each other than this. */
const JUMP_MS = 1000;

const TIME = `return redis.call('TIME')`;

const REFRESH_EVERY_MS = 10_000;

/** A sample is wrong by half of its round trip at most; above this another one may be the better. */
const SLOW_ROUND_TRIP_MS = 50;

/**
 * The time of the Redis server, which is the same for all instances whatever their own clocks say. Until Redis has told
 * it, this machine's; where Redis fails, what was last known holds.
 */
export class ServerClock {
  readonly #options: ServerClockOptions;
  readonly #timer: NodeJS.Timeout;
  #offsetMs = 0;
  #hasSample = false;

  /** Asks every 10 s from now on; the first time is the caller's to choose, with `refresh`. */
  constructor(options: ServerClockOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.refresh(), REFRESH_EVERY_MS).unref();
  }

  /** Epoch milliseconds of the Redis server, with fractions. */
  now(): number {
    return this.#options.now() + this.#offsetMs;
  }

  /** How far the server's clock is ahead of this machine's. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Asks Redis for its time: when a connection was made, for it may lead to another server. Never rejects. */
  async refresh(): Promise<void> {
    const { runScript, key, now, monotonic } = this.#options;
    const sentAt = monotonic();
    const reply = await runScript(TIME, [key], []).catch(() => undefined);
    const roundTripMs = monotonic() - sentAt;
    const serverTime = readTime(reply);
    if (serverTime === undefined) return;
    const offsetMs = serverTime + roundTripMs / 2 - now();
    // A slow sample that what is known lies within says nothing new; one that it lies outside of proves it wrong: a
    // clock was set, or this is another server.
    const agrees = Math.abs(offsetMs - this.#offsetMs) <= roundTripMs / 2;
    if (this.#hasSample && roundTripMs > SLOW_ROUND_TRIP_MS && agrees) return;
    const jumped = Math.abs(offsetMs - this.#offsetMs) > JUMP_MS;
    this.#offsetMs = offsetMs;
    this.#hasSample = true;
    if (jumped) this.#options.onJump();
  }

  /** Asks no more. */
  close(): void {
    clearInterval(this.#timer);
  }
}

/** Seconds and microseconds, in decimal, to epoch milliseconds. */
function readTime(reply: unknown): number | undefined {
  if (!Array.isArray(reply) || reply.length !== 2) return undefined;
  const [seconds, micros] = reply.map((part) => Number(String(part)));
  const time = (seconds ?? Number.NaN) * 1000 + (micros ?? Number.NaN) / 1000;
  return Number.isFinite(time) ? time : undefined;
}
