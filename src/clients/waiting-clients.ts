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
