import { ProxyError } from '../errors.ts';

/**
 * The failure of a request that was shed: `Retry-After` is the known wait, else 1 to 3 seconds at random, so that those
 * who were shed together do not come back together.
 */
export function overloaded(random: () => number, waitMs = 0): ProxyError {
  const retryAfterSeconds = waitMs > 0 ? Math.ceil(waitMs / 1000) : 1 + Math.floor(random() * 3);
  return new ProxyError('overloaded', 'too many requests for the indexer are waiting', { retryAfterSeconds });
}
