import type { Call } from './parse-call.ts';

/** Raised whenever a key, or the meaning of what is stored under it, changes: entries of another version are misses. */
export const SCHEMA_VERSION = 3;

/**
 * The key of a call: equal for all spellings of one call, different for different calls, networks and epochs (the
 * instant at which all was purged, 0 for never). The indexer's address is no part of it, so replicas of one chain
 * share entries. Canonical values hold no `&`, `=` is
 * only their padding, so the pairs cannot run into each other.
 */
export function cacheKey(network: string, epoch: number, { operation, request }: Call): string {
  const join = (separator: string) => (pair: readonly [string, string]) => pair.join(separator);
  const query = request.query.map(join('='));
  const headers = request.headers.map(join(':'));
  return `${SCHEMA_VERSION} ${network} ${epoch} ${operation.name}?${[...query, ...headers].join('&')}`;
}
