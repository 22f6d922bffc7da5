/** One client's part of the backlog. */
export interface WaitingClient {
  readonly client: string;
  readonly requests: number;
  /** Share of all waiting requests, 0 to 1. */
  readonly share: number;
}

/**
 * Counts by client, most first, given the clients that wait for each request. A request with several clients counts for
 * each of them.
 */
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
/** After this many looks in a row a client with more than half of the backlog is reported. */
const LOOKS = 10;
/** Below this number of waiting requests, a client harms nobody. */
const FEWEST_WAITING = 10;

/**
 * Checks every second whether one client holds the backlog, and calls `onGreedy` when it has had more than half of the
 * backlog for 10 s; once for the same client. Call the returned function to stop.
 */
export function watchGreedy(
  waiting: () => readonly WaitingClient[],
  onGreedy: (greedy: WaitingClient) => void,
): () => void {
  let suspect = '';
  let looks = 0;
  let reported = '';
  const look = () => {
    const [first] = waiting();
    const isGreedy = first !== undefined && first.share > 0.5 && first.requests >= FEWEST_WAITING;
    if (!isGreedy || first.client !== suspect) looks = 0;
    if (!isGreedy) return;
    suspect = first.client;
    if (++looks < LOOKS || first.client === reported) return;
    reported = first.client;
    onGreedy(first);
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}
