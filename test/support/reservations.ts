import type { RateLimit } from '../../src/admission/rate-limit.ts';

/** Waiters for reservations of a rate, first come, first served. */
export class Reservations {
  readonly #rate: RateLimit;
  readonly #waiting = new Set<() => void>();

  constructor(rate: RateLimit) {
    this.#rate = rate;
  }

  /** Resolves with `true` when it has taken a reservation, with `false` if the signal is aborted before. */
  take(signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const go = () => resolve(true);
      this.#waiting.add(go);
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(go);
        resolve(false);
      });
      this.handOut();
    });
  }

  readonly handOut = (): void => {
    for (const go of this.#waiting) {
      if (!this.#rate.want(this.handOut, this.#waiting.size)) return;
      void this.#rate.take();
      this.#waiting.delete(go);
      go();
    }
  };
}

/** Requests this many reservations at once; returns the instants of those that have come. */
export function ask(rate: RateLimit, times: number, signal?: AbortSignal): number[] {
  const turns = new Reservations(rate);
  const at: number[] = [];
  for (let n = 0; n < times; n++) void turns.take(signal).then((taken) => taken && at.push(performance.now()));
  return at;
}
