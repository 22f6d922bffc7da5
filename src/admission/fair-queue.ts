/** A client with members in the queue. */
interface QueuedClient<T> {
  readonly name: string;
  /** In the order in which they came. */
  readonly members: Set<T>;
  /** The round of its first member. Each of the others has the round after the one before it. */
  round: number;
}

/** The member that goes next, and the client whose round it takes. */
export interface Next<T> {
  readonly member: T;
  readonly client: string;
}

/** So many clients of one round are remembered after they have left; then all of them may go in it once more. */
const MOST_GONE = 10_000;

/**
 * A queue that is fair between clients (fair queueing with equal weights, in rounds):
 *
 *   round of a member = max(current round, round of its client's last member + 1)
 *
 * The lowest round goes first, in it the client that came to it first; the current round is that of the last one that
 * went. So who has many members waits behind those who have few, and a client alone is served first in, first out. Who
 * leaves gives its round back: those of its client that came later move up.
 *
 * Every client's first member is in the current round, or in the next one: it has gone in this one. Adding, going and
 * leaving cost the same however many wait.
 */
export class FairQueue<T> {
  readonly #clientOf = new Map<T, QueuedClient<T>>();
  readonly #clients = new Map<string, QueuedClient<T>>();
  /** The clients with a member in each round, in the order in which they came to it. */
  readonly #rounds = new Map<number, Set<QueuedClient<T>>>();
  #current = 0;
  /** Clients that have gone in the current round, and have no members. */
  readonly #gone = new Set<string>();

  get size(): number {
    return this.#clientOf.size;
  }

  /** The number of members of a client. */
  count(client: string): number {
    return this.#clients.get(client)?.members.size ?? 0;
  }

  /** The next member to go, of the clients that may. */
  next(mayGo: (client: string) => boolean = () => true): Next<T> | undefined {
    for (let round = this.#current; round <= this.#current + 1; round++) {
      for (const { name, members } of this.#rounds.get(round) ?? []) {
        if (mayGo(name)) for (const member of members) return { member, client: name };
      }
    }
    return undefined;
  }

  /** The number of members that would go before one that a client adds now. */
  ahead(client: string): number {
    const round = this.#nextRound(client);
    const inRound = (each: number) => this.#rounds.get(each)?.size ?? 0;
    let counted = 0;
    // Up to its own round there are as many as it has members, and behind that at most as many as others have.
    if (2 * this.count(client) < this.size) {
      for (let each = this.#current; each <= round; each++) counted += inRound(each);
      return counted;
    }
    for (let each = round + 1; inRound(each) > 0; each++) counted += inRound(each);
    return this.size - counted;
  }

  /** Adds a member, behind the others of its client. */
  add(member: T, client: string): void {
    const known = this.#clients.get(client) ?? { name: client, members: new Set(), round: this.#nextRound(client) };
    this.#clients.set(client, known);
    this.#clientOf.set(member, known);
    known.members.add(member);
    this.#enterLastRound(known);
  }

  /** Another client waits for a member too: it moves to the round that this client would get, if that is an earlier one. */
  share(member: T, client: string): void {
    const owner = this.#clientOf.get(member);
    if (owner === undefined) return;
    let before = this.#nextRound(client) - owner.round + 1;
    if (before >= owner.members.size) return;
    for (const each of owner.members) {
      if (before-- === 0) break;
      if (each === member) return;
    }
    this.remove(member);
    this.add(member, client);
  }

  /** Takes out a member that {@link next} has named. */
  go(member: T): void {
    const client = this.#clientOf.get(member);
    if (client === undefined) return;
    if (client.round > this.#current) this.#beginRound();
    this.#rounds.get(client.round++)?.delete(client);
    this.#takeOut(member, client);
  }

  /** Takes out a member that does not go. */
  remove(member: T): void {
    const client = this.#clientOf.get(member);
    if (client === undefined) return;
    const last = client.round + client.members.size - 1;
    const inLast = this.#rounds.get(last);
    inLast?.delete(client);
    if (inLast?.size === 0) this.#rounds.delete(last);
    this.#takeOut(member, client);
  }

  #takeOut(member: T, client: QueuedClient<T>): void {
    this.#clientOf.delete(member);
    client.members.delete(member);
    if (client.members.size > 0) return;
    this.#clients.delete(client.name);
    if (this.#gone.size >= MOST_GONE) this.#gone.clear();
    if (client.round > this.#current) this.#gone.add(client.name);
    if (this.size > 0) return;
    this.#rounds.clear();
    this.#gone.clear();
  }

  /** The clients that could not go in this round have theirs from the next one on. */
  #beginRound(): void {
    const remaining = this.#rounds.get(this.#current) ?? [];
    this.#rounds.delete(this.#current++);
    this.#gone.clear();
    for (const client of remaining) {
      client.round++;
      this.#enterLastRound(client);
    }
  }

  #enterLastRound(client: QueuedClient<T>): void {
    const last = client.round + client.members.size - 1;
    const others = this.#rounds.get(last);
    if (others === undefined) this.#rounds.set(last, new Set([client]));
    else others.add(client);
  }

  #nextRound(client: string): number {
    const known = this.#clients.get(client);
    if (known !== undefined) return known.round + known.members.size;
    return this.#current + (this.#gone.has(client) ? 1 : 0);
  }
}
