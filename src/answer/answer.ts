import type { Entry } from '../cache/entry.ts';
import type { ProxyError } from '../errors.ts';
import type { CacheStatus } from './cache-status.ts';

/** The result of a request: an entry to send, or a failure to report. */
export type Answer =
  | { readonly kind: 'entry'; readonly entry: Entry; readonly cacheStatus: CacheStatus }
  | { readonly kind: 'failure'; readonly error: ProxyError; readonly cacheStatus: CacheStatus };
