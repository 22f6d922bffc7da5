/**
 * A queue that is fair between clients (start-time fair queueing with equal weights):
 *
 *   turn of a member = max(current turn, turn of its client's last member + 1)
 *
 * The lowest turn goes first, in it the member that came first; the current turn is that of the last one that went.
 * So who has many members waits behind those who have few, and a client alone is served first in, first out.
 */
export class FairQueue<T> {
  /** The members of each turn, in the order in which they came. */
  readonly #turns = new Map<number, Set<T>>();
  readonly #turnOf = new Map<T, number>();
  /** The turn of each client's last member. */
  readonly #last = new Map<string, number>();
  #current = 0;
  #highest = 0;

  get size(): number {
    return this.#turnOf.size;
  }

  /** The next member to go. */
  get first(): T | undefined {
    while (this.size > 0) {
      for (const first of this.#turns.get(this.#current) ?? []) return first;
      this.#turns.delete(this.#current++);
    }
    return undefined;
  }

  /** The number of members that would go before one that a client adds now. */
  ahead(client: string): number {
    const turn = this.#nextTurn(client);
    let behind = 0;
    for (let each = this.#highest; each > turn; each--) behind += this.#turns.get(each)?.size ?? 0;
    return this.size - behind;
  }

  /** Adds a member of a client; one that is in the queue moves to the end of the client's next turn. */
  add(member: T, client: string): void {
    const turn = this.#nextTurn(client);
    // Clients without members beyond the current turn are as good as new ones; forgetting them bounds the memory.
    if (this.#last.size > 2 * this.size + 100) {
      for (const [each, last] of this.#last) if (last <= this.#current) this.#last.delete(each);
    }
    this.#last.set(client, turn);
    this.#highest = Math.max(this.#highest, turn);
    this.#turns.get(this.#turnOf.get(member) ?? -1)?.delete(member);
    this.#turnOf.set(member, turn);
    const members = this.#turns.get(turn);
    if (members === undefined) this.#turns.set(turn, new Set([member]));
    else members.add(member);
  }

  /** Another client waits for a member too: it moves to the place that this client would get, if that is a better one. */
  share(member: T, client: string): void {
    const turn = this.#turnOf.get(member);
    if (turn !== undefined && this.#nextTurn(client) < turn) this.add(member, client);
  }

  /** Removes a member. */
  remove(member: T): void {
    this.#turns.get(this.#turnOf.get(member) ?? -1)?.delete(member);
    this.#turnOf.delete(member);
    if (this.size > 0) return;
    this.#turns.clear();
    this.#last.clear();
    this.#highest = this.#current;
  }

  #nextTurn(client: string): number {
    return Math.max(this.#current, (this.#last.get(client) ?? -1) + 1);
  }
}
