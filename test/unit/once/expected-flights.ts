/** One request for a key. All instants in ms; no two that matter are equal. */
export interface Arrival {
  readonly at: number;
  readonly key: string;
  /** When this one stops waiting. */
  readonly leavesAt: number;
  /** What the load would do if this one had to start it. */
  readonly load: {
    readonly departsAt: number;
    readonly landsAt: number;
    readonly failed: boolean;
  };
}

export interface ExpectedFlight {
  readonly leader: number;
  readonly cancelled: boolean;
}

export interface ExpectedWait {
  /** Whose load it was. */
  readonly leader: number;
  readonly state: 'landed' | 'left';
  readonly settlesAt: number;
}

export interface Expected {
  readonly flights: readonly ExpectedFlight[];
  readonly waits: readonly ExpectedWait[];
}

interface Modelled {
  readonly leader: number;
  readonly arrival: Arrival;
  /** When the last of the requests that have joined leaves. */
  lastLeavesAt: number;
}

/** What the rules of coalescing make of arrivals, in the order of their coming: reckoned from the instants alone. */
export function expectFlights(arrivals: readonly Arrival[], collapseWindowMs: number, failureTtlMs: number): Expected {
  const flights: Modelled[] = [];
  const newest = new Map<string, Modelled>();
  const joined = arrivals.map((arrival, index) => {
    const last = newest.get(arrival.key);
    const flight =
      last !== undefined && takes(last, arrival.at, collapseWindowMs, failureTtlMs)
        ? last
        : { leader: index, arrival, lastLeavesAt: 0 };
    if (flight !== last) {
      flights.push(flight);
      newest.set(arrival.key, flight);
    }
    flight.lastLeavesAt = Math.max(flight.lastLeavesAt, arrival.leavesAt);
    return flight;
  });
  return {
    flights: flights.map((flight) => ({ leader: flight.leader, cancelled: isCancelled(flight) })),
    waits: arrivals.map(({ at, leavesAt }, index) => {
      const { leader, arrival } = joined[index] ?? { leader: index, arrival: arrivals[index] };
      const landsAt = Math.max(at, arrival?.load.landsAt ?? 0);
      return leavesAt < landsAt
        ? { leader, state: 'left', settlesAt: leavesAt }
        : { leader, state: 'landed', settlesAt: landsAt };
    }),
  };
}

function takes(flight: Modelled, at: number, collapseWindowMs: number, failureTtlMs: number): boolean {
  const { arrival, lastLeavesAt } = flight;
  const { landsAt, failed } = arrival.load;
  if (isCancelled(flight) && lastLeavesAt < at) return false;
  return landsAt < at ? failed && at < landsAt + failureTtlMs : at < arrival.at + collapseWindowMs;
}

function isCancelled({ arrival, lastLeavesAt }: Modelled): boolean {
  return lastLeavesAt < arrival.load.departsAt && lastLeavesAt < arrival.load.landsAt;
}
