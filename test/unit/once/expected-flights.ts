/** A request for a key. Instants are in milliseconds; no two relevant ones are equal. */
export interface Arrival {
  readonly at: number;
  readonly key: string;
  /** When the request stops waiting. */
  readonly leavesAt: number;
  /** The load that this request starts if there is no flight to join. */
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
  /** The index of the arrival that started the flight. */
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
  /** When the last waiter of the flight leaves. */
  lastLeavesAt: number;
}

/**
 * The flights and waits that the rules of collapsing require for these arrivals, computed from their instants alone.
 */
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
