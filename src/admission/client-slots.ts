import type { MonotonicMs, Ms } from '../time-units.ts';

/**
 * While other clients send requests, one client may hold at most this part of an operation's slots. With fewer slots
 * than the second number there is no such limit.
 */
const [MOST_OF_SLOTS, FEWEST_SLOTS] = [7 / 8, 8];

/** Other clients count as active if one of them was seen within this time. */
const SEEN_MS: Ms = 10_000;

/**
 * Counts the slots of one operation that each client holds. Without a limit, one client's slow requests could hold all
 * slots for longer than other clients wait, however fair the backlog is. So a client may hold seven eighths of the
 * slots (if there are at least 8) while another client has asked within the last 10 s. A client that is alone may hold
 * all of them.
 */
export class ClientSlots {
  readonly #now: () => MonotonicMs;
  readonly #taken = new Map<string, number>();
  /** The two clients that asked last, with the time. */
  #last = { client: '', at: Number.NEGATIVE_INFINITY };
  #other = this.#last;

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** Call when a client asks for a slot, also if it gets none. */
  seen(client: string): void {
    if (client !== this.#last.client) this.#other = this.#last;
    this.#last = { client, at: this.#now() };
  }

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
