/**
 * A database that loses what it committed last, as from a backup or at a failover to an older standby, and then commits the
 * same again, faster than the chain makes it. Instants are epoch ms.
 */
export class DatabaseFall {
  readonly at: number;
  readonly #lostMs: number;
  readonly #speed: number;

  /**
   * @param lostMs How much of the chain's time is lost.
   * @param speed How many times as fast as the chain it catches up: more than 1.
   */
  constructor(at: number, lostMs: number, speed: number) {
    this.at = at;
    this.#lostMs = lostMs;
    this.#speed = speed;
  }

  /** When it has everything again. */
  get endsAt(): number {
    return this.at + this.#lostMs / (this.#speed - 1);
  }

  /** Up to when the database has committed at an instant what the chain has. */
  databaseAt(instant: number): number {
    if (instant < this.at || instant >= this.endsAt) return instant;
    return this.at - this.#lostMs + this.#speed * (instant - this.at);
  }

  /** When the database has committed again what the chain had at an instant: that instant itself if that was not lost. */
  committedAgainAt(instant: number): number {
    const isLost = instant > this.at - this.#lostMs && instant < this.endsAt;
    return isLost ? this.at + (instant - this.at + this.#lostMs) / this.#speed : instant;
  }
}
