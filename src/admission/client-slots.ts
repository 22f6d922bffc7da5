import type { MonotonicMs, Ms } from '../time-units.ts';

/** One client may hold this part of the slots of an operation that has as many as this, while others ask. */
const [MOST_OF_SLOTS, FEWEST_SLOTS] = [7 / 8, 8];

/** Others ask while one was seen within this time. */
const SEEN_MS: Ms = 10_000;

/**
 * The slots of one operation that each client holds. Slow requests of one client could hold all of them for longer than
 * others wait, however fair the backlog is: so a client may hold seven eighths of them (of 8 or more), unless nobody else
 * has asked within the last 10 s. A client alone gets everything.
 */
export class ClientSlots {
  readonly #now: () => MonotonicMs;
  readonly #taken = new Map<string, number>();
  /** The two clients that asked last, and when. */
  #last = { client: '', at: Number.NEGATIVE_INFINITY };
  #other = this.#last;

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** To be called when a client asks for a slot, whether or not it gets one. */
  seen(client: string): void {
    if (client !== this.#last.client) this.#other = this.#last;
    this.#last = { client, at: this.#now() };
  }

  /** Whether a client may hold one more of so many slots. */
  mayTake(client: string, slots: number): boolean {
    const taken = this.#taken.get(client) ?? 0;
    if (slots < FEWEST_SLOTS || taken < Math.floor(slots * MOST_OF_SLOTS)) return true;
    const { at } = client === this.#last.client ? this.#other : this.#last;
    return this.#now() - at >= SEEN_MS;
  }

  take(client: string): void {
    this.#taken.set(client, (this.#taken.get(client) ?? 0) + 1);
  }

  release(client: string): void {
    const remaining = (this.#taken.get(client) ?? 0) - 1;
    if (remaining > 0) this.#taken.set(client, remaining);
    else this.#taken.delete(client);
  }
}
