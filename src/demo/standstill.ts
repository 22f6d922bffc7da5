const BEAT_MS = 200;
const STANDSTILL_MS = 1000;

/**
 * Notices when this process stood still for a second or more (Ctrl-Z, a laptop that slept, a machine with no time):
 * what was under way then says nothing about the proxy.
 */
export class Standstill implements Disposable {
  readonly #timer = setInterval(() => this.#beat(), BEAT_MS).unref();
  #beatAt = Date.now();
  #endedAt = Number.NEGATIVE_INFINITY;

  /** Whether one ended at that instant (epoch ms) or later. */
  endedSince(instant: number): boolean {
    this.#beat();
    return this.#endedAt >= instant;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = Date.now();
    if (now - this.#beatAt >= STANDSTILL_MS) this.#endedAt = now;
    this.#beatAt = now;
  }
}
