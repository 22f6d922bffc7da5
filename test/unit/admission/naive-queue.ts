/** The round of a member, and the order in which its client entered this round. */
interface Place {
  round: number;
  came: number;
}

/** The rules of the fair queue, implemented literally over lists, as a model to compare with. */
export class NaiveQueue {
  readonly #clients = new Map<string, { members: number[]; places: Place[]; gone: number }>();
  #current = 0;
  #came = 0;
  /** `isUnderWay`: a member has gone in the current round. `isJoined`: a new client has come since then. */
  #round = { isUnderWay: false, isJoined: false };

  get members(): number[] {
    return [...this.#clients.values()].flatMap(({ members }) => members);
  }

  next(mayGo: (client: string) => boolean): { member: number; client: string } | undefined {
    const waiting = [...this.#clients].filter(([client, { members }]) => members.length > 0 && mayGo(client));
    const first = ([, { places }]: (typeof waiting)[number]) => places[0] as Place;
    waiting.sort((one, other) => first(one).round - first(other).round || first(one).came - first(other).came);
    const [best] = waiting;
    return best && { member: best[1].members[0] as number, client: best[0] };
  }

  go(client: string): void {
    const going = this.#of(client);
    const { round } = going.places[0] as Place;
    if (round > this.#current) {
      this.#beginRound();
    }
    going.members.shift();
    going.places.shift();
    going.gone++;
    this.#round.isUnderWay = true;
    this.#forgetEmpty();
  }

  endJoinedRound(): void {
    if (!this.#round.isJoined) return;
    const remaining = this.#inOrder(this.#current);
    const gone = this.#inOrder(this.#current + 1).filter((each) => !remaining.includes(each));
    this.#beginRound();
    const rank = (each: (typeof gone)[number]) => (remaining.includes(each) ? 1 : each.gone === 1 ? 0 : 2);
    for (const { places } of [...gone, ...remaining].toSorted((one, other) => rank(one) - rank(other))) {
      (places[0] as Place).came = this.#came++;
    }
  }

  #beginRound(): void {
    for (const { places } of this.#inOrder(this.#current)) {
      places.shift();
      places.push({ round: (places.at(-1)?.round ?? this.#current) + 1, came: this.#came++ });
    }
    this.#current++;
    this.#round = { isUnderWay: false, isJoined: false };
  }

  leave(member: number): void {
    for (const { members, places } of this.#clients.values()) {
      const index = members.indexOf(member);
      if (index < 0) continue;
      members.splice(index, 1);
      places.pop();
    }
    this.#forgetEmpty();
  }

  share(member: number, client: string): void {
    const owner = [...this.#clients.values()].find(({ members }) => members.includes(member));
    const place = owner?.places[owner.members.indexOf(member)];
    if (place === undefined || this.#nextRound(client) >= place.round) return;
    this.leave(member);
    this.add(member, client);
  }

  add(member: number, client: string): void {
    const round = this.#nextRound(client);
    if (!this.#clients.has(client)) this.#round.isJoined ||= this.#round.isUnderWay;
    const { members, places } = this.#of(client);
    members.push(member);
    places.push({ round, came: this.#came++ });
  }

  ahead(client: string): number {
    const round = this.#nextRound(client);
    const places = [...this.#clients.values()].flatMap((each) => each.places);
    return places.filter((place) => place.round <= round).length;
  }

  /** The clients with a member in a round, in the order in which they entered it. */
  #inOrder(round: number) {
    const came = (places: Place[]) => places.find((place) => place.round === round)?.came ?? -1;
    const inRound = [...this.#clients.values()].filter(({ places }) => came(places) >= 0);
    return inRound.sort((one, other) => came(one.places) - came(other.places));
  }

  #nextRound(client: string): number {
    const last = this.#clients.get(client)?.places.at(-1);
    return Math.max(this.#current, last === undefined ? 0 : last.round + 1);
  }

  #of(client: string) {
    const known = this.#clients.get(client) ?? { members: [], places: [], gone: 0 };
    this.#clients.set(client, known);
    return known;
  }

  #forgetEmpty(): void {
    for (const [name, { members }] of this.#clients) if (members.length === 0) this.#clients.delete(name);
    if (this.#clients.size === 0) this.#round = { isUnderWay: false, isJoined: false };
  }
}
