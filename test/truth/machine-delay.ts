const BEAT_MS = 100;
const KEPT_MS = 15_000;

/** The delay of a busy machine that no beat shows, ms. */
const LEAST_MS = 250;

/**
 * The delay of this machine: an answer that waited for the CPU proves nothing about the cache. Measured by a timer in
 * this process and by requests to each instance.
 */
export class MachineDelay implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #delays: { readonly at: number; readonly ms: number }[] = [];
  #beatAt = performance.now();

  /** @param probe Sends the smallest possible request to every instance. Its time counts, its failures do not. */
  constructor(probe: () => Promise<unknown>) {
    let isProbing = false;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#add(now - this.#beatAt - BEAT_MS);
      this.#beatAt = now;
      if (isProbing) return;
      isProbing = true;
      void probe().finally(() => {
        this.#add(performance.now() - now);
        isProbing = false;
      });
    }, BEAT_MS).unref();
  }

  /** The longest delay of the last 15 s, ms. */
  get ms(): number {
    const standingMs = performance.now() - this.#beatAt - BEAT_MS;
    return LEAST_MS + Math.max(standingMs, ...this.#delays.map(({ ms }) => ms));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #add(ms: number): void {
    const at = performance.now();
    this.#delays.push({ at, ms });
    while ((this.#delays[0]?.at ?? at) < at - KEPT_MS) this.#delays.shift();
  }
}
