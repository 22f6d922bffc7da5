import type { Entry } from '../cache/entry.ts';
import type { ProxyError } from '../errors.ts';
import type { Operation } from '../ton/operations.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';
import type { CacheStatus } from './cache-status.ts';
import type { RequestOutcome } from './events.ts';
import type { Wait } from './wait.ts';

/** A request for one of the operations, not parsed yet. */
export interface ProxyRequest {
  readonly operation: Operation;
  /** The query after `?`, unchanged. */
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
  /** Begins this request's wait; the caller closes it. Not called for a hit in memory, which needs no deadline. */
  readonly openWait: () => Wait;
  /** Not called for a hit in memory, which has no id. */
  readonly requestId: () => string;
}

/** The result of a request: an entry to send, or a failure to report. `client-closed-request`: the client has left. */
export type Answer = {
  readonly key: string;
  readonly outcome: RequestOutcome | 'client-closed-request';
  readonly cacheStatus: CacheStatus;
  /** The id of the request whose answer this one got. */
  readonly joined?: string | undefined;
} & ({ readonly kind: 'entry'; readonly entry: Entry } | { readonly kind: 'failure'; readonly error: ProxyError });
