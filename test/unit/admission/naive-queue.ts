/** The round of a client's member, and when the client came to it. */
interface Place {
  round: number;
  readonly came: number;
}

/** The rules of the fair queue, as they are written, over lists. */
export class NaiveQueue {
  readonly #clients = new Map<string, { members: number[]; places: Place[]; lastWent: number }>();
  #current = 0;
  #came = 0;

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
      for (const { places } of this.#inOrder(this.#current)) {
        places.shift();
        places.push({ round: (places.at(-1)?.round ?? this.#current) + 1, came: this.#came++ });
      }
      this.#current = round;
    }
    going.members.shift();
    going.places.shift();
    going.lastWent = round;
    this.#forgetWhenEmpty();
  }

  leave(member: number): void {
    for (const { members, places } of this.#clients.values()) {
      const index = members.indexOf(member);
      if (index < 0) continue;
      members.splice(index, 1);
      places.pop();
    }
    this.#forgetWhenEmpty();
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
    const { members, places } = this.#of(client);
    members.push(member);
    places.push({ round, came: this.#came++ });
  }

  ahead(client: string): number {
    const round = this.#nextRound(client);
    const places = [...this.#clients.values()].flatMap((each) => each.places);
    return places.filter((place) => place.round <= round).length;
  }

  /** The clients with a member in a round, the one that came to it first before the others. */
  #inOrder(round: number) {
    const came = (places: Place[]) => places.find((place) => place.round === round)?.came ?? -1;
    const inRound = [...this.#clients.values()].filter(({ places }) => came(places) >= 0);
    return inRound.sort((one, other) => came(one.places) - came(other.places));
  }

  #nextRound(client: string): number {
    const { places, lastWent } = this.#of(client);
    return Math.max(this.#current, (places.at(-1)?.round ?? lastWent) + 1);
  }

  #of(client: string) {
    const known = this.#clients.get(client) ?? { members: [], places: [], lastWent: -1 };
    this.#clients.set(client, known);
    return known;
  }

  #forgetWhenEmpty(): void {
    if (this.members.length > 0) return;
    this.#clients.clear();
  }
}
