import type { SeededRandom } from '../../src/simulator/seeded-random.ts';

/** Simulated time: actions happen in order of their instant, and no real time passes. */
export class SimulatedTime {
  readonly #agenda: { readonly at: number; readonly action: () => void }[] = [];
  #now = 0;

  /** Milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** Actions of one instant happen in the order in which they were planned. */
  after(delayMs: number, action: () => void): void {
    const at = this.#now + delayMs;
    let low = 0;
    for (let high = this.#agenda.length; low < high; ) {
      const middle = (low + high) >> 1;
      // Latest first, so that the next is taken from the end.
      if ((this.#agenda[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    this.#agenda.splice(low, 0, { at, action });
  }

  runUntil(until: number): void {
    for (let next = this.#agenda.at(-1); next !== undefined && next.at <= until; next = this.#agenda.at(-1)) {
      this.#agenda.pop();
      this.#now = next.at;
      next.action();
    }
    this.#now = until;
  }
}

/** A service time in milliseconds, drawn anew for each request. */
export type ServiceTime = (random: SeededRandom) => number;

export const uniform =
  (meanMs: number, jitter: number): ServiceTime =>
  (random) =>
    meanMs * (1 + jitter * (2 * random.next() - 1));

export const exponential =
  (meanMs: number): ServiceTime =>
  (random) =>
    -meanMs * Math.log(1 - random.next());

/** Log-normal by its mean and its median: the shape of real query times. */
export const heavyTailed =
  (meanMs: number, medianMs: number): ServiceTime =>
  (random) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    return medianMs * Math.exp(Math.sqrt(2 * Math.log(meanMs / medianMs)) * normal);
  };

/**
 * The indexer as overload sees it: so many workers and a queue without an end, first in, first out. It never refuses,
 * and works on for clients that have left.
 */
export class SimulatedUpstream {
  readonly #time: SimulatedTime;
  readonly #waiting: (() => void)[] = [];
  #workers: number;
  #busy = 0;
  #hangs = false;

  constructor(time: SimulatedTime, workers: number) {
    this.#time = time;
    this.#workers = workers;
  }

  /** Requests that wait or are worked on. */
  get inHand(): number {
    return this.#waiting.length + this.#busy;
  }

  set workers(count: number) {
    this.#workers = count;
    this.#startNext();
  }

  /** While it hangs, no work begins. */
  set hangs(hangs: boolean) {
    this.#hangs = hangs;
    this.#startNext();
  }

  submit(serviceMs: () => number, onDone: () => void): void {
    this.#waiting.push(() => {
      this.#busy++;
      this.#time.after(serviceMs(), () => {
        this.#busy--;
        this.#startNext();
        onDone();
      });
    });
    this.#startNext();
  }

  #startNext(): void {
    while (!this.#hangs && this.#busy < this.#workers && this.#waiting.length > 0) this.#waiting.shift()?.();
  }
}
