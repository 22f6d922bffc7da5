import type { Entry } from '../cache/entry.ts';
import type { ProxyError } from '../errors.ts';
import type { CacheStatus } from './cache-status.ts';
import type { RequestOutcome } from './events.ts';

/** The result of a request: an entry to send, or a failure to report. */
export type Answer = { readonly outcome: RequestOutcome; readonly cacheStatus: CacheStatus } & (
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'failure'; readonly error: ProxyError }
);
