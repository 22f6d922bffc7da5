/**
 * A database that loses its last commits, as after a restore or a failover to an older standby, and then commits them
 * again, faster than the chain makes them. Instants are epoch ms.
 */
export class DatabaseFall {
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

  /** The time when it has everything again. */
  get endsAt(): number {
    return this.at + this.#lostMs / (this.#speed - 1);
  }

  /** The chain's time up to which the database has committed at an instant. */
  databaseAt(instant: number): number {
    if (instant < this.at || instant >= this.endsAt) return instant;
    return this.at - this.#lostMs + this.#speed * (instant - this.at);
  }

  /**
   * The time when the database has committed again the chain's state of an instant: the instant itself if it was not
   * lost.
   */
  committedAgainAt(instant: number): number {
    const isLost = instant > this.at - this.#lostMs && instant < this.endsAt;
    return isLost ? this.at + (instant - this.at + this.#lostMs) / this.#speed : instant;
  }
}
