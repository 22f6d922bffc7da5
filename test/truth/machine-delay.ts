const BEAT_MS = 100;
const KEPT_MS = 15_000;

/** No machine is exact: by how much a busy one is behind without a beat showing it, ms. */
const LEAST_MS = 250;

/**
 * By how much this machine is behind: an answer that waited for the CPU on its way says nothing about the cache. Measured by a
 * timer in this process and by requests to each instance.
 */
export class MachineDelay implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #delays: { readonly at: number; readonly ms: number }[] = [];
  #beatAt = performance.now();

  /** @param probe Sends the smallest request there is to every instance; its time counts. Failures are its own affair. */
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

  /** The most that it was behind in the last 15 s, ms. */
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
