/** The instants at which the tiers of all instances lost everything, epoch ms. */
export class LostAnswers {
  #redisAt = Number.NEGATIVE_INFINITY;
  #memoryAt = Number.NEGATIVE_INFINITY;

  /** Redis is empty at this instant. */
  ofRedis(at: number): void {
    this.#redisAt = at;
  }

  /** The memory of each instance is empty at this instant. */
  ofMemory(at: number): void {
    this.#memoryAt = at;
  }

  /**
   * True if neither tier can still have an answer that was loaded and last served at these instants. Redis holds what
   * was loaded since it was empty, and memory takes from it what is asked for.
   */
  include({ loadedAt, servedAt }: { readonly loadedAt: number; readonly servedAt: number }): boolean {
    return loadedAt <= this.#redisAt && (this.#memoryAt > this.#redisAt || servedAt <= this.#memoryAt);
  }
}
