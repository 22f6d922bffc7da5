import type { Requester } from '../clients/client-addresses.ts';
import type { ProxyError } from '../errors.ts';
import type { OperationName } from '../ton/operation-names.ts';
import type { RequestOutcome } from './phase.ts';

/** The subject of a request, as it is counted: an operation, another path of the API, or the Streaming API. */
export type RequestKind = OperationName | 'passthrough' | 'streaming';

/** A request that failed: counting must know whether many failures are those of one key, or of one client. */
export interface FailedRequest {
  readonly operation: RequestKind;
  /** The cache key, or the target of a passed-through request; `undefined` if no other request is like this one. */
  readonly key: string | undefined;
  readonly requester: Requester;
}

/**
 * The end of a client's request. Each request is reported once: as `answered`, or as `client-closed-request`. For one
 * that failed, a second event says how. Everything that counts requests reads these.
 */
export type FinishedRequest =
  | { readonly name: 'answered'; readonly operation: RequestKind; readonly outcome: RequestOutcome }
  /** A client disconnected before its answer: not a failure, and not in any other count of requests. */
  | { readonly name: 'client-closed-request'; readonly operation: RequestKind }
  /** The client got a failure of this proxy. */
  | ({ readonly name: 'failed'; readonly error: ProxyError } & FailedRequest)
  /** The client got a 502 or above of the indexer itself, to a request without the client's own credentials. */
  | ({ readonly name: 'failure-passed'; readonly status: number } & FailedRequest);
