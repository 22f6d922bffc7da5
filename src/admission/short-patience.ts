import type { MonotonicMs, Ms } from '../time-units.ts';

/** So long after its last refusal a client asks for too much. */
const ASKS_TOO_MUCH_MS: Ms = 250;

/** So many clients that ask for too much are remembered. */
const MOST_CLIENTS = 10_000;

/**
 * Who has the short patience, so that the backlog shrinks to what keeps the indexer busy, and latency falls while goodput
 * stays:
 *
 * - A client that was refused while others of its own waited asks for too much: it alone, until it was not refused for a
 *   quarter of a second.
 * - Any other that was refused shows that there are too many clients: all newcomers of its queue, until nobody waits in it,
 *   or one client alone. If that client's requests counted, one with many connections would keep the patience of all others
 *   short for good, and take the turns that they leave.
 */
export class ShortPatience {
  readonly #now: () => MonotonicMs;
  /** When clients that ask for too much were last refused. */
  readonly #refusedAt = new Map<string, MonotonicMs>();
  /** The names of the queues in which all have it. */
  readonly #forAll = new Set<string>();

  constructor(now: () => MonotonicMs) {
    this.#now = now;
  }

  /** Whether these clients have it in a queue. */
  isFor(queue: string, clients: Iterable<string>): boolean {
    return this.#forAll.has(queue) || this.#askTooMuch(clients);
  }

  /** Clients were refused, or gave up; `hadOthers`: whether others of their own waited when they came. */
  refused(queue: string, clients: Iterable<string>, hadOthers: boolean): void {
    if (!hadOthers && !this.#askTooMuch(clients)) {
      this.#forAll.add(queue);
      return;
    }
    if (this.#refusedAt.size >= MOST_CLIENTS) this.#refusedAt.clear();
    for (const client of clients) this.#refusedAt.set(client, this.#now());
  }

  /** No client waits in a queue beside others; `isLast`: nobody waits in any queue. */
  calmed(queue: string, isLast: boolean): void {
    this.#forAll.delete(queue);
    if (isLast) this.#refusedAt.clear();
  }

  #askTooMuch(clients: Iterable<string>): boolean {
    const since = this.#now() - ASKS_TOO_MUCH_MS;
    return [...clients].every((client) => (this.#refusedAt.get(client) ?? since) > since);
  }
}
