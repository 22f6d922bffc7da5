import { inMap } from '../in-map.ts';
import { FairQueue } from './fair-queue.ts';
import type { RouteRequest } from './guard.ts';

/** Waiting requests of one operation that may be sent to the same indexers. */
export interface WaitingQueue<T> extends Pick<RouteRequest, 'operation' | 'rate' | 'isSecondTry'> {
  readonly name: string;
  readonly waiting: FairQueue<T>;
}

/**
 * The queues of all operations, each fair between clients. Requests that may not be sent to the same indexers, or that
 * follow other rules, have queues of their own, so that they do not hold up the others.
 */
export class WaitingQueues<T> {
  readonly #queues = new Map<string, WaitingQueue<T>>();

  /** All queues; the one that was served last is at the end. */
  get all(): Iterable<WaitingQueue<T>> {
    return this.#queues.values();
  }

  of(request: RouteRequest): WaitingQueue<T> {
    const { operation, rate, isSecondTry } = request;
    const name = queueName(request);
    return inMap(this.#queues, name, () => ({ name, operation, rate, isSecondTry, waiting: new FairQueue<T>() }));
  }

  /** Call when a request of a queue went: the other queues then come before it. */
  served(queue: WaitingQueue<T>): void {
    this.#queues.delete(queue.name);
    this.#queues.set(queue.name, queue);
  }

  /** True if each client of a request has other waiting requests, for any operation. */
  haveWaiting({ clients }: RouteRequest): boolean {
    return [...clients].every((client) => this.isWaiting(client));
  }

  isWaiting(client: string): boolean {
    for (const { waiting } of this.#queues.values()) if (waiting.count(client) > 0) return true;
    return false;
  }

  /** The number of waiters ahead of a request in its queue; without clients, all. */
  ahead(request: RouteRequest): number {
    return aheadIn(this.of(request), request);
  }

  /** The number of waiters in all queues that would use a reservation before a request. */
  aheadForReservation(request: RouteRequest): number {
    const own = this.of(request);
    const ahead = aheadIn(own, request);
    let all = ahead;
    for (const other of this.#queues.values()) {
      if (other === own || other.rate !== own.rate) continue;
      if (own.isSecondTry) all += other.waiting.size;
      // Operations go in rotation.
      else if (!other.isSecondTry) all += Math.min(aheadIn(other, request), ahead + 1);
    }
    return all;
  }
}

/**
 * Requests with one name wait together. The name has the rules that decide who may get them and how they count, but not
 * the block: otherwise each block would have its own queue.
 */
function queueName({ operation, isSecondTry, not, rate, isOurs, at }: RouteRequest): string {
  const isOrdinary = !isSecondTry && not === undefined && rate === 'own' && isOurs && at === undefined;
  return isOrdinary ? operation : `${operation}, ${isSecondTry}, ${not}, ${rate}, ${isOurs}, ${at}`;
}

function aheadIn<T>({ waiting }: WaitingQueue<T>, { clients }: RouteRequest): number {
  return Math.min(waiting.size, ...[...clients].map((client) => waiting.ahead(client)));
}
