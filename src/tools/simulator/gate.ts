import { EventEmitter, once } from 'node:events';

/** Holds requests until a test lets them through, for tests of events during an upstream request. */
export class Gate {
  /** The number of requests that have come to the gate, including those let through. */
  arrivals = 0;
  isOpen = false;
  readonly #waiting: (() => void)[] = [];
  readonly #events = new EventEmitter<{ arrival: [] }>().setMaxListeners(0);

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves as soon as this many requests, in all, have come to the gate. */
  async arrived(count: number): Promise<void> {
    while (this.arrivals < count) await once(this.#events, 'arrival');
  }

  /** Lets the first `count` requests through, in order of arrival; without a number all of them, and all later ones. */
  release(count?: number): void {
    this.isOpen ||= count === undefined;
    for (const goOn of this.#waiting.splice(0, count ?? this.#waiting.length)) goOn();
  }

  async pass(): Promise<void> {
    this.arrivals++;
    this.#events.emit('arrival');
    if (!this.isOpen) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }
}
