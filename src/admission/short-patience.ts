import type { MonotonicMs, Ms } from '../time-units.ts';

/** After a refusal a client counts as too demanding for this time. */
const ASKS_TOO_MUCH_MS: Ms = 250;

/** The maximum number of demanding clients that are remembered. */
const MOST_CLIENTS = 10_000;

/**
 * Decides which requests have the short patience. It shrinks the backlog to the size that keeps the indexer busy:
 * latency falls, goodput stays.
 *
 * - A client that was refused while it had other waiting requests is too demanding. Only this client has the short
 *   patience, until a quarter of a second passes without a refusal.
 * - The refusal of any other client shows that there are too many clients. All new requests of its queue have the short
 *   patience, until at most one client waits in the queue. If one client were enough to prolong it, a client with many
 *   connections would keep the patience of all others short for good, and use the slots that they leave.
 */
export class ShortPatience {
  readonly #now: () => MonotonicMs;
  /** When demanding clients were last refused. */
  readonly #refusedAt = new Map<string, MonotonicMs>();
  /** The names of the queues in which all new requests have it. */
  readonly #forAll = new Set<string>();

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** True if a request of these clients has the short patience in a queue. */
  isFor(queue: string, clients: Iterable<string>): boolean {
    return this.#forAll.has(queue) || this.#askTooMuch(clients);
  }

  /** Clients were refused, or gave up; `hadOthers`: they had other waiting requests when this one came. */
  refused(queue: string, clients: Iterable<string>, hadOthers: boolean): void {
    if (!hadOthers && !this.#askTooMuch(clients)) {
      this.#forAll.add(queue);
      return;
    }
    if (this.#refusedAt.size >= MOST_CLIENTS) this.#refusedAt.clear();
    for (const client of clients) this.#refusedAt.set(client, this.#now());
  }

  /** At most one client waits in a queue; `isLast`: nobody waits in any queue. */
  calmed(queue: string, isLast: boolean): void {
    this.#forAll.delete(queue);
    if (isLast) this.#refusedAt.clear();
  }

  #askTooMuch(clients: Iterable<string>): boolean {
    const since = this.#now() - ASKS_TOO_MUCH_MS;
    return [...clients].every((client) => (this.#refusedAt.get(client) ?? since) > since);
  }
}
