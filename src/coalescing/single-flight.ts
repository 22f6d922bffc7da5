/** What a load may do with the flight it runs in. */
export interface Flight {
  /** Aborted when nobody waits any longer and the flight is not kept. */
  readonly signal: AbortSignal;
  /** Called when somebody joins a flight that another began. Set by the load, where it matters who waits. */
  onFollowed?: (() => void) | undefined;
  /** From here on the flight runs to its end, whoever waits here: others may wait for it too. */
  keep(): void;
  /** It is under way upstream, which is waited for from now on: the flight is kept, and its answer is read and stored. */
  depart(): void;
}

/** What waiting for a flight came to: its value, or that this waiter left before it landed. */
export type Wait<T> = {
  /** Whether this waiter followed a flight that another one had started. */
  readonly collapsed: boolean;
} & ({ readonly state: 'landed'; readonly value: T } | { readonly state: 'left'; readonly departed: boolean });

export interface SingleFlightOptions<T> {
  /** How long a flight takes followers, in milliseconds: one who joined later would get an answer asked too long ago. */
  readonly joinableMs: number;
  /** How long an outcome rests on its key after landing, answering newcomers without another load. 0 for most. */
  readonly restMs: (value: T) => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface Active<T> {
  readonly flight: Flight;
  readonly landing: Promise<T>;
  readonly abort: AbortController;
  joinableUntil: number;
  waiters: number;
  kept: boolean;
  departed: boolean;
  landed: boolean;
}

/**
 * One load per key in this process. A flight belongs to nobody: a leader that leaves hurts no follower, and every
 * waiter has its own deadline. A flight that is not kept and that nobody waits for is cancelled.
 */
export class SingleFlight<T> {
  readonly #options: SingleFlightOptions<T>;
  readonly #active = new Map<string, Active<T>>();

  constructor(options: SingleFlightOptions<T>) {
    this.#options = options;
  }

  /** Keys with a flight under way or an outcome at rest. */
  get size(): number {
    return this.#active.size;
  }

  /**
   * Waits for the flight of `key`, starting it with `load` when there is none to follow, until `signal` is aborted.
   * Rejects only with what `load` threw, which is a bug: expected failures are values.
   */
  async join(key: string, signal: AbortSignal, load: (flight: Flight) => Promise<T>): Promise<Wait<T>> {
    const followed = this.#followable(key);
    const flight = followed ?? this.#start(key, load);
    const collapsed = followed !== undefined;
    flight.waiters++;
    followed?.flight.onFollowed?.();
    try {
      const landing = flight.landing.then((value) => ({ state: 'landed' as const, value, collapsed }));
      const landed = await untilAborted(landing, signal);
      return landed ?? { state: 'left', departed: flight.departed, collapsed };
    } finally {
      flight.waiters--;
      if (flight.waiters === 0 && !flight.kept && !flight.landed) this.#cancel(key, flight);
    }
  }

  #followable(key: string): Active<T> | undefined {
    const flight = this.#active.get(key);
    return flight !== undefined && this.#options.now() < flight.joinableUntil ? flight : undefined;
  }

  #start(key: string, load: (flight: Flight) => Promise<T>): Active<T> {
    const abort = new AbortController();
    const { promise: landing, resolve, reject } = Promise.withResolvers<T>();
    const own: Flight = {
      signal: abort.signal,
      keep: () => {
        flight.kept = true;
      },
      depart: () => {
        flight.kept = true;
        flight.departed = true;
      },
    };
    const flight: Active<T> = {
      flight: own,
      landing,
      abort,
      joinableUntil: this.#options.now() + this.#options.joinableMs,
      waiters: 0,
      kept: false,
      departed: false,
      landed: false,
    };
    // With every waiter gone a failure still has to be seen by somebody, or it would end the process.
    landing.catch(() => {});
    load(own).then(
      (value) => {
        this.#land(key, flight, this.#options.restMs(value));
        resolve(value);
      },
      (error: unknown) => {
        this.#land(key, flight, 0);
        reject(error);
      },
    );
    this.#active.set(key, flight);
    return flight;
  }

  #land(key: string, flight: Active<T>, restMs: number): void {
    flight.landed = true;
    if (restMs > 0) {
      flight.joinableUntil = this.#options.now() + restMs;
      setTimeout(() => this.#forget(key, flight), restMs).unref();
    } else {
      this.#forget(key, flight);
    }
  }

  #cancel(key: string, flight: Active<T>): void {
    this.#forget(key, flight);
    flight.abort.abort(new Error('nobody waits for this flight'));
  }

  /** A younger flight of the same key may have taken the place. */
  #forget(key: string, flight: Active<T>): void {
    if (this.#active.get(key) === flight) this.#active.delete(key);
  }
}

/** The value of `promise`, or `undefined` when `signal` is aborted first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const onAbort = () => resolve(undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
