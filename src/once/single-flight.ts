import type { MonotonicMs, Ms } from '../time-units.ts';

/** The flight of a load, as the load sees it. */
export interface Flight {
  /** True if the last waiter left before the flight had departed. */
  readonly isAbandoned: boolean;
  /** Aborted at that moment. Created on first use. */
  readonly signal: AbortSignal;
  /** The clients that wait for it, or have left it; empty while only a refresh has waited. */
  readonly clients: ReadonlySet<string>;
  /** Call when the request is sent to the indexer. From then on the flight runs to its end, even if nobody waits. */
  depart(): void;
}

/** A request that waits for a flight, and may leave before it lands. */
export interface FlightWaiter {
  /** The client that waits; absent for a refresh. */
  readonly client?: string | undefined;
  /** The id of its request, which is logged with those that follow its flight; absent for a refresh. */
  readonly id?: string | undefined;
  /** Why it has left; `undefined` while it waits. */
  readonly reason: unknown;
  /** Call once when the waiter leaves. Set by the flight that it waits for; it waits for one at a time. */
  onEnd: (() => void) | undefined;
}

/** How a wait for a flight ended: with its value, or by leaving before it landed. */
export type FlightEnd<T> = {
  /** True if this waiter followed a flight that another request had started. */
  readonly collapsed: boolean;
  /** The id of the request that had started the flight. */
  readonly joined?: string | undefined;
} & ({ readonly state: 'landed'; readonly value: T } | { readonly state: 'left'; readonly departed: boolean });

/**
 * Clients that poll come every 2 to 4 s, so nobody gets an answer that was requested before its own last one. Most loads
 * take less, and a slow one is sent at most once a second for each key.
 */
export const COLLAPSE_WINDOW_MS: Ms = 1000;

export interface SingleFlightDependencies<T> {
  /** Called with each client that joins a flight which another request has started. */
  readonly onFollowed: (flight: Flight, client: string) => void;
  /** For this time after landing an outcome answers new requests: 0 for all but failures. */
  readonly keptMs: (value: T) => Ms;
  readonly now: () => MonotonicMs;
  /** A flight can be joined for this time: a later waiter would get an answer that was requested too long ago. */
  readonly collapseWindowMs: Ms;
}

/**
 * The maximum number of waiters that are notified in one tick of the event loop, so that hits are answered in
 * between.
 */
const BATCH_SIZE = 256;

type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** Tells a waiter how its flight landed. */
type Notify<T> = (outcome: Settled<T>) => void;

/** The single object of a flight: for the load, for its waiters, and in the map. */
class ActiveFlight<T> implements Flight {
  readonly clients = new Set<string>();
  readonly waiters = new Set<Notify<T>>();
  #abort: AbortController | undefined;
  isAbandoned = false;
  joinUntil: MonotonicMs;
  hasDeparted = false;
  /** A kept failure. */
  outcome: Settled<T> | undefined;
  /** The id of the request that started it. */
  readonly begunBy: string | undefined;
  readonly #now: () => MonotonicMs;
  readonly #sentWithinMs: Ms;

  constructor(
    now: () => MonotonicMs,
    [windowMs, sentWithinMs]: readonly [windowMs: Ms, sentWithinMs: Ms],
    { client, id }: Pick<FlightWaiter, 'client' | 'id'>,
  ) {
    this.#now = now;
    this.joinUntil = now() + windowMs;
    this.#sentWithinMs = sentWithinMs;
    this.begunBy = id;
    if (client !== undefined) this.clients.add(client);
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.isAbandoned) this.#abort.abort();
    return this.#abort.signal;
  }

  depart(): void {
    this.hasDeparted = true;
    this.joinUntil = Math.min(this.joinUntil, this.#now() + this.#sentWithinMs);
  }

  abandon(): void {
    this.isAbandoned = true;
    this.#abort?.abort();
  }
}

/**
 * One load per key in this process. No request owns a flight: when the request that started it leaves, its waiters
 * are not affected, and every waiter has its own deadline. A flight without waiters is cancelled if it has not
 * departed. A waiter costs one promise and one entry in a set.
 */
export class SingleFlight<T> {
  readonly #dependencies: SingleFlightDependencies<T>;
  readonly #active = new Map<string, ActiveFlight<T>>();

  constructor(dependencies: SingleFlightDependencies<T>) {
    this.#dependencies = dependencies;
  }

  /** True if a flight of `key` is under way, or its failure is kept. */
  has(key: string): boolean {
    return this.#active.has(key);
  }

  /** True if `join` would now follow a flight that is under way. */
  hasFlightToFollow(key: string): boolean {
    const flight = this.#flightToJoin(key);
    return flight !== undefined && flight.outcome === undefined;
  }

  /** True if a flight is under way whose request has not been sent: it may wait in the backlog. */
  hasWaitingFlight(key: string): boolean {
    return this.hasFlightToFollow(key) && this.#active.get(key)?.hasDeparted === false;
  }

  /**
   * Waits for the flight of `key` until `waiter` leaves. Starts the flight with `load` if there is none to follow.
   * Rejects only with what `load` threw, which is a bug: expected failures are values. `sentWithinMs`: the flight that it
   * starts can also not be joined later than this after its departure.
   */
  join(
    key: string,
    waiter: FlightWaiter,
    load: (flight: Flight) => Promise<T>,
    sentWithinMs: Ms = Number.POSITIVE_INFINITY,
  ): Promise<FlightEnd<T>> {
    const followed = this.#flightToJoin(key);
    const collapsed = followed !== undefined;
    if (followed !== undefined) this.#addClient(followed, waiter.client);
    const flight = followed ?? this.#open(key, waiter, sentWithinMs);
    const end = this.#wait(key, flight, waiter, collapsed);
    if (!collapsed && !flight.isAbandoned) this.#load(key, flight, load);
    return end;
  }

  #addClient(flight: ActiveFlight<T>, client: string | undefined): void {
    if (client === undefined || flight.clients.has(client)) return;
    flight.clients.add(client);
    this.#dependencies.onFollowed(flight, client);
  }

  #wait(key: string, flight: ActiveFlight<T>, waiter: FlightWaiter, collapsed: boolean): Promise<FlightEnd<T>> {
    const joined = collapsed ? flight.begunBy : undefined;
    return new Promise((resolve, reject) => {
      const notify = (outcome: Settled<T>) => {
        waiter.onEnd = undefined;
        if ('value' in outcome) resolve({ state: 'landed', value: outcome.value, collapsed, joined });
        else reject(outcome.error);
      };
      const leave = () => {
        flight.waiters.delete(notify);
        resolve({ state: 'left', departed: flight.hasDeparted, collapsed, joined });
        if (flight.waiters.size > 0 || flight.hasDeparted || flight.outcome !== undefined) return;
        this.#forget(key, flight);
        flight.abandon();
      };
      if (flight.outcome !== undefined) {
        notify(flight.outcome);
      } else if (waiter.reason !== undefined) {
        leave();
      } else {
        waiter.onEnd = leave;
        flight.waiters.add(notify);
      }
    });
  }

  #flightToJoin(key: string): ActiveFlight<T> | undefined {
    const flight = this.#active.get(key);
    return flight !== undefined && this.#dependencies.now() < flight.joinUntil ? flight : undefined;
  }

  #open(key: string, waiter: FlightWaiter, sentWithinMs: Ms): ActiveFlight<T> {
    const { now, collapseWindowMs } = this.#dependencies;
    const flight = new ActiveFlight<T>(now, [collapseWindowMs, sentWithinMs], waiter);
    this.#active.set(key, flight);
    return flight;
  }

  #load(key: string, flight: ActiveFlight<T>, load: (flight: Flight) => Promise<T>): void {
    const { keptMs } = this.#dependencies;
    load(flight).then(
      (value) => this.#land(key, flight, { value }, keptMs(value)),
      (error: unknown) => this.#land(key, flight, { error }, 0),
    );
  }

  #land(key: string, flight: ActiveFlight<T>, outcome: Settled<T>, keptMs: Ms): void {
    if (keptMs > 0) {
      flight.outcome = outcome;
      flight.joinUntil = this.#dependencies.now() + keptMs;
      setTimeout(() => this.#forget(key, flight), keptMs).unref();
    } else {
      this.#forget(key, flight);
    }
    notifyInBatches(flight.waiters, outcome);
  }

  /** Removes a flight, unless a newer flight of the key has replaced it. */
  #forget(key: string, flight: ActiveFlight<T>): void {
    if (this.#active.get(key) === flight) this.#active.delete(key);
  }
}

/** Notifies all waiters, the oldest first. Waiters that leave between two batches are not notified. */
function notifyInBatches<T>(waiters: Set<Notify<T>>, outcome: Settled<T>): void {
  let notified = 0;
  for (const notify of waiters) {
    if (notified++ === BATCH_SIZE) {
      setImmediate(() => notifyInBatches(waiters, outcome));
      return;
    }
    waiters.delete(notify);
    notify(outcome);
  }
}
