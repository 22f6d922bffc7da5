/** A database that loses its last commits, and has them again later. Instants are epoch ms. */
export interface DatabaseFall {
  readonly at: number;
  /** The time when it has everything again. */
  readonly endsAt: number;
  /** The chain's time up to which the database has committed at an instant. */
  databaseAt(instant: number): number;
  /**
   * The time when the database has committed again the chain's state of an instant: the instant itself if it was not
   * lost.
   */
  committedAgainAt(instant: number): number;
}

/** A restore: the database commits again what it has lost, faster than the chain makes it. */
export class Restore implements DatabaseFall {
  readonly at: number;
  readonly #lostMs: number;
  readonly #speed: number;

  /**
   * @param lostMs The lost part of the chain's time.
   * @param speed The speed at which it commits again, as a multiple of the chain's speed: more than 1.
   */
  constructor(at: number, lostMs: number, speed: number) {
    this.at = at;
    this.#lostMs = lostMs;
    this.#speed = speed;
  }

  get endsAt(): number {
    return this.at + this.#lostMs / (this.#speed - 1);
  }

  databaseAt(instant: number): number {
    if (instant < this.at || instant >= this.endsAt) return instant;
    return this.at - this.#lostMs + this.#speed * (instant - this.at);
  }

  committedAgainAt(instant: number): number {
    const isLost = instant > this.at - this.#lostMs && instant < this.endsAt;
    return isLost ? this.at + (instant - this.at + this.#lostMs) / this.#speed : instant;
  }
}

/** A failover to a standby that is behind and stands still, until it has everything at once. */
export class Failover implements DatabaseFall {
  readonly at: number;
  readonly endsAt: number;
  readonly #lostMs: number;

  /**
   * @param lostMs The lost part of the chain's time.
   * @param lastsMs The time until the database has everything again.
   */
  constructor(at: number, lostMs: number, lastsMs: number) {
    this.at = at;
    this.endsAt = at + lastsMs;
    this.#lostMs = lostMs;
  }

  databaseAt(instant: number): number {
    return instant < this.at || instant >= this.endsAt ? instant : this.at - this.#lostMs;
  }

  committedAgainAt(instant: number): number {
    return instant > this.at - this.#lostMs && instant < this.endsAt ? this.endsAt : instant;
  }
}
