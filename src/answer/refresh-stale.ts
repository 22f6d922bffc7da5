import type { SingleFlight } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';
import type { Call } from '../ton/parse-call.ts';
import type { Load, Loader } from './load-entry.ts';
import { Wait } from './wait.ts';

/**
 * Refreshes a key in the background. Does nothing while the key is being loaded, and right after its load has failed.
 * May be called for every stale answer.
 */
export type RefreshStale = (call: Call, key: string) => void;

export interface RefreshStaleDependencies {
  readonly flights: SingleFlight<Load>;
  readonly loader: Loader;
  readonly onBug: (error: unknown) => void;
  /** The longest wait of a refresh for its ticket. */
  readonly timeoutMs: Ms;
}

/**
 * Builds the background half of stale-while-revalidate (RFC 5861 3). A failed refresh leaves the stale copy as it is.
 */
export function refreshStaleWith({ flights, loader, onBug, timeoutMs }: RefreshStaleDependencies): RefreshStale {
  return (call, key) => {
    if (flights.has(key)) return;
    const wait = new Wait(timeoutMs);
    const load = flights.join(key, wait, (flight) => loader.load(call, key, flight, false));
    load.catch(onBug).finally(() => wait.close());
  };
}
