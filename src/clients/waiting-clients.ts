/** What one client has of the requests that wait for the indexer. */
export interface WaitingClient {
  readonly client: string;
  readonly requests: number;
  /** Of all that wait, 0 to 1. */
  readonly share: number;
}

/** Counts by client, most first, given whom each request waits for: one that several wait for counts for each. */
export function countWaiting(clientsOfRequests: Iterable<Iterable<string>>): WaitingClient[] {
  const counts = new Map<string, number>();
  let all = 0;
  for (const clients of clientsOfRequests) {
    all++;
    for (const client of clients) counts.set(client, (counts.get(client) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([client, requests]) => ({ client, requests, share: requests / all }));
}

const LOOK_EVERY_MS = 1000;
/** After so many looks in a row a client that has more than half of what waits is reported. */
const LOOKS = 10;
/** Fewer waiting requests of one client harm nobody. */
const FEWEST_WAITING = 10;

export interface GreedyWatchDependencies {
  readonly waiting: () => readonly WaitingClient[];
  /** Called when a client had more than half of what waits for 10 s; for the same client once. */
  readonly onGreedy: (greedy: WaitingClient) => void;
}

/** Looks each second whether one client holds the backlog. */
export class GreedyWatch {
  readonly #dependencies: GreedyWatchDependencies;
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  #suspect = '';
  #looks = 0;
  #reported = '';

  constructor(dependencies: GreedyWatchDependencies) {
    this.#dependencies = dependencies;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [first] = this.#dependencies.waiting();
    const isGreedy = first !== undefined && first.share > 0.5 && first.requests >= FEWEST_WAITING;
    if (!isGreedy || first.client !== this.#suspect) this.#looks = 0;
    if (!isGreedy) return;
    this.#suspect = first.client;
    if (++this.#looks < LOOKS || first.client === this.#reported) return;
    this.#reported = first.client;
    this.#dependencies.onGreedy(first);
  }
}
