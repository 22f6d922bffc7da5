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

/**
 * Looks each second whether one client holds the backlog, and calls `onGreedy` when it had more than half of what waits
 * for 10 s; for the same client once. Call the returned function to end it.
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
