import type { SingleFlight } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Load, Loader } from './load-entry.ts';
import { Wait } from './wait.ts';

/**
 * Refreshes a key in the background. May be called for every stale answer: each key has at most one refresh under way.
 * Resolves when the refresh has ended, in any way; never rejects.
 */
export type RefreshStale = (call: Call, key: string) => Promise<void>;

export interface RefreshStaleDependencies {
  readonly flights: SingleFlight<Load>;
  readonly loader: Loader;
  readonly onBug: (error: unknown) => void;
  /** How long a refresh may wait for its ticket. */
  readonly timeoutMs: Ms;
}

/**
 * Builds the background half of stale-while-revalidate (RFC 5861 3). A failed refresh leaves the stale copy as it is.
 */
export function refreshStaleWith({ flights, loader, onBug, timeoutMs }: RefreshStaleDependencies): RefreshStale {
  const refreshing = new Map<string, Promise<void>>();
  return (call, key) => {
    const underWay = refreshing.get(key);
    if (underWay !== undefined) return underWay;
    const wait = new Wait(timeoutMs);
    const refresh = flights
      .join(key, wait, (flight) => loader.load(call, key, flight, false))
      .then(() => {}, onBug)
      .finally(() => {
        wait.close();
        refreshing.delete(key);
      });
    refreshing.set(key, refresh);
    return refresh;
  };
}
