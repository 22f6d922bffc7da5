import type { Entry } from '../cache/entry.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { ProxyError } from '../errors.ts';
import type { FlightEnd } from '../once/single-flight.ts';
import type { Fetched } from './fetch-entry.ts';

/** The result of one flight. */
export type Load =
  | { readonly from: 'memory' | 'redis'; readonly entry: Entry }
  /** `replaced`: whether the cache held a copy that was too old to be served. */
  | (Fetched & { readonly from: 'upstream'; readonly replaced: boolean })
  | {
      readonly from: 'nowhere';
      readonly error: ProxyError;
      /** Whether it was a refresh that was not sent: a client that joined it begins a load of its own. */
      readonly isDropped?: boolean;
      /** What may be served instead, if it is still usable then. */
      readonly fallback: Lookup;
    };

/** Whether the indexer was asked for a waiter, as far as it saw: not for one that followed another's flight. */
export function askedIndexer(wait: FlightEnd<Load>): boolean {
  if (wait.collapsed) return false;
  if (wait.state === 'left') return wait.departed;
  const { value } = wait;
  return value.from === 'upstream' || (value.from === 'nowhere' && value.error.wentForward);
}

/** Whether a purge covers the answer of a load, or the load was a refresh that was not sent. */
export function mustLoadAgain(load: Load, cache: TieredCache): boolean {
  return load.from === 'nowhere' ? load.isDropped === true : cache.isPurged(load.entry);
}
