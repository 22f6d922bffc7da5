interface QueuedClient<T> {
  readonly name: string;
  /** In the order in which they came. */
  readonly members: Set<T>;
  /** The round of its first member. Each later member has the round after the previous one. */
  round: number;
  /** The number of its members that have gone since it came. */
  gone: number;
}

/** The next member to go, and the client whose round it uses. */
export interface Next<T> {
  readonly member: T;
  readonly client: string;
}

/**
 * A queue that is fair between clients (fair queueing with equal weights, in rounds):
 *
 *   round of a member = max(current round, round of its client's last member + 1)
 *
 * The lowest round goes first; within a round, the client that came to it first. The current round is that of the last
 * member that went. So a client with many members waits behind clients with few, and a client that is alone is served
 * first in, first out. When a member leaves, later members of its client move up. A client without members is
 * forgotten: when it comes back, it is new.
 *
 * Every client's first member is in the current round, or in the next one if the client has gone in this one. New
 * clients join the current round, so the round does not end while they keep coming, unless the owner of the queue ends
 * it ({@link endJoinedRound}). The cost of adding, going and leaving does not depend on the number of waiters. Ending a
 * round costs one step per waiting client.
 */
export class FairQueue<T> {
  readonly #clientOf = new Map<T, QueuedClient<T>>();
  readonly #clients = new Map<string, QueuedClient<T>>();
  /** By round: its clients, in the order in which they came to it. */
  readonly #rounds = new Map<number, Set<QueuedClient<T>>>();
  #current = 0;
  /** A member has gone in the current round. */
  #isUnderWay = false;
  /** A new client has joined since then. */
  #isJoined = false;

  get size(): number {
    return this.#clientOf.size;
  }

  get clients(): number {
    return this.#clients.size;
  }

  count(client: string): number {
    return this.#clients.get(client)?.members.size ?? 0;
  }

  /** The next member to go, among the clients that may. */
  next(mayGo: (client: string) => boolean = () => true): Next<T> | undefined {
    for (let round = this.#current; round <= this.#current + 1; round++) {
      for (const { name, members } of this.#rounds.get(round) ?? []) {
        if (mayGo(name)) for (const member of members) return { member, client: name };
      }
    }
    return undefined;
  }

  /** The number of members ahead of one that a client adds now. */
  ahead(client: string): number {
    const round = this.#nextRound(client);
    const inRound = (each: number) => this.#rounds.get(each)?.size ?? 0;
    let counted = 0;
    // Counts the smaller side. The rounds up to its own are as many as the client's members; the rounds behind it are
    // at most as many as the members of others.
    if (2 * this.count(client) < this.size) {
      for (let each = this.#current; each <= round; each++) counted += inRound(each);
      return counted;
    }
    for (let each = round + 1; inRound(each) > 0; each++) counted += inRound(each);
    return this.size - counted;
  }

  /** Adds a member, behind the others of its client. */
  add(member: T, client: string): void {
    const known = this.#clients.get(client) ?? this.#newClient(client);
    this.#clientOf.set(member, known);
    known.members.add(member);
    this.#enterLastRound(known);
  }

  /**
   * Another client waits for a member too: the member moves to the round that this client would get, if it is earlier.
   */
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

  /** Takes out a member that {@link next} has returned. */
  go(member: T): void {
    const client = this.#clientOf.get(member);
    if (client === undefined) return;
    if (client.round > this.#current) this.#beginRound();
    this.#rounds.get(client.round++)?.delete(client);
    client.gone++;
    this.#isUnderWay = true;
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

  /**
   * Ends the current round if new clients have joined it since it began. In the next round, clients that have gone once
   * go first (two requests at a time are not greedy), then clients that have not gone, then those that have gone more
   * often. So another client can go ahead of a waiting client one time more than in rounds that end by themselves.
   */
  endJoinedRound(): void {
    if (!this.#isJoined) return;
    const remaining = this.#rounds.get(this.#current) ?? new Set();
    const gone = [...(this.#rounds.get(this.#current + 1) ?? [])].filter((client) => !remaining.has(client));
    this.#beginRound();
    const [once, more] = [gone.filter((client) => client.gone === 1), gone.filter((client) => client.gone > 1)];
    this.#rounds.set(this.#current, new Set([...once, ...remaining, ...more]));
  }

  #takeOut(member: T, client: QueuedClient<T>): void {
    this.#clientOf.delete(member);
    client.members.delete(member);
    if (client.members.size > 0) return;
    this.#clients.delete(client.name);
    if (this.size > 0) return;
    this.#rounds.clear();
    [this.#isUnderWay, this.#isJoined] = [false, false];
  }

  /** The clients that could not go in this round go from the next one on. */
  #beginRound(): void {
    const remaining = this.#rounds.get(this.#current) ?? [];
    this.#rounds.delete(this.#current++);
    [this.#isUnderWay, this.#isJoined] = [false, false];
    for (const client of remaining) {
      client.round++;
      this.#enterLastRound(client);
    }
  }

  #newClient(name: string): QueuedClient<T> {
    const client = { name, members: new Set<T>(), round: this.#current, gone: 0 };
    this.#clients.set(name, client);
    this.#isJoined ||= this.#isUnderWay;
    return client;
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
    return this.#current;
  }
}
