import { Fifo, type Place } from './fifo.ts';

/** The place of a member in its {@link FairQueue}. */
export interface FairPlace<T> {
  readonly turn: number;
  readonly place: Place<T>;
}

/**
 * A queue that is fair between clients (start-time fair queueing with equal weights):
 *
 *   turn of a member = max(current turn, turn of its client's last member + 1)
 *
 * The lowest turn goes first, in it the member that came first; the current turn is that of the last one that went.
 * So who has many members waits behind those who have few, and a client alone is served first in, first out.
 */
export class FairQueue<T> {
  readonly #turns = new Map<number, Fifo<T>>();
  /** The turn of each client's last member. */
  readonly #last = new Map<string, number>();
  #current = 0;
  #highest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The next member to go. */
  get first(): T | undefined {
    if (this.#size === 0) return undefined;
    for (;;) {
      const first = this.#turns.get(this.#current)?.first;
      if (first !== undefined) return first;
      this.#turns.delete(this.#current++);
    }
  }

  /** The number of members that would go before one that a client adds now. */
  ahead(client: string): number {
    const turn = this.#turnOf(client);
    let [below, above] = [0, 0];
    // From the nearer end: a client that asks for much stands near the last turn, one that asks for little near the first.
    if (turn - this.#current < this.#highest - turn) {
      for (let each = this.#current; each <= turn; each++) below += this.#turns.get(each)?.size ?? 0;
      return below;
    }
    for (let each = this.#highest; each > turn; each--) above += this.#turns.get(each)?.size ?? 0;
    return this.#size - above;
  }

  /** Adds a member of a client. */
  add(value: T, client: string): FairPlace<T> {
    const turn = this.#turnOf(client);
    // Clients without members beyond the current turn are as good as new ones; forgetting them bounds the memory.
    if (this.#last.size > 2 * this.#size + 100) {
      for (const [each, last] of this.#last) if (last <= this.#current) this.#last.delete(each);
    }
    this.#last.set(client, turn);
    this.#highest = Math.max(this.#highest, turn);
    this.#size++;
    let fifo = this.#turns.get(turn);
    if (fifo === undefined) {
      fifo = new Fifo();
      this.#turns.set(turn, fifo);
    }
    return { turn, place: fifo.push(value) };
  }

  /** Removes a member; to be called once for each place. */
  remove({ turn, place }: FairPlace<T>): void {
    this.#turns.get(turn)?.remove(place);
    this.#size--;
    if (this.#size > 0) return;
    this.#turns.clear();
    this.#last.clear();
    this.#highest = this.#current;
  }

  /** Moves a member to the place that another client's would get, if that is a better one; returns where it stands. */
  share(at: FairPlace<T>, client: string): FairPlace<T> {
    if (this.#turnOf(client) >= at.turn) return at;
    // The new place first: a queue that becomes empty forgets its clients.
    const better = this.add(at.place.value, client);
    this.remove(at);
    return better;
  }

  #turnOf(client: string): number {
    return Math.max(this.#current, (this.#last.get(client) ?? -1) + 1);
  }
}
