import type { KeyPaused } from '../admission/pause.ts';
import type { ErrorCode, ProxyError } from '../errors.ts';
import type { RefusedReason } from '../failures/refusals.ts';
import type { IndexerWords, UpstreamEvent } from '../indexer/upstream-client.ts';
import type { OperationName } from '../ton/operation-names.ts';
import type { FollowerState } from './block-proof.ts';
import type { RequestOutcome } from './phase.ts';

/** The operations that clients request from the indexer: the cached ones, and pass-through as one. */
export type UpstreamOperation = OperationName | 'passthrough';

/** Events of a request, for metrics and log. */
export type ProxyEvent =
  | { readonly name: 'answered'; readonly operation: OperationName; readonly outcome: RequestOutcome }
  /** A client disconnected before its answer: not a failure, and not in any other count of requests. */
  | { readonly name: 'client-closed-request'; readonly operation: OperationName }
  /** A request that memory did not answer got its answer. */
  | {
      readonly name: 'waited';
      readonly operation: OperationName;
      readonly outcome: RequestOutcome;
      readonly ms: number;
    }
  | { readonly name: 'failed'; readonly operation: OperationName; readonly error: ProxyError }
  /** Refused before its operation and parameters were read. */
  | { readonly name: 'refused'; readonly code: ErrorCode }
  | { readonly name: 'load-refused'; readonly operation: UpstreamOperation; readonly reason: RefusedReason }
  | UpstreamEvent
  | { readonly name: 'stored'; readonly operation: OperationName; readonly answerClass: string }
  | { readonly name: 'regressed'; readonly operation: OperationName }
  | { readonly name: 'followed'; readonly operation: OperationName }
  /** The indexer's answer could not be used. */
  | {
      readonly name: 'upstream-useless';
      readonly indexer: string;
      readonly operation: UpstreamOperation;
      readonly code: ErrorCode;
      readonly status: number;
      /** The indexer's own words. */
      readonly says?: IndexerWords | undefined;
      /** For an answer outside of the API: its type, and its first bytes. */
      readonly contentType?: string | undefined;
      readonly begins?: string;
    }
  /** The indexer answered 429 for this key only. */
  | ({ readonly name: 'key-paused'; readonly indexer: string; readonly says: string } & KeyPaused)
  /** A request for the rest of the API that may be joined with others got its answer. */
  | { readonly name: 'rest-answered'; readonly result: 'hit' | 'collapsed' | 'miss' | 'passed' }
  /** A client's request to the Streaming API got the head of its answer, or failed. */
  | { readonly name: 'client-stream'; readonly result: number | ErrorCode }
  /**
   * A client was refused because it has its maximum of streams, and its request names a client in a header that is not
   * read; reported once.
   */
  | { readonly name: 'streams-of-proxy'; readonly address: string; readonly header: string }
  | { readonly name: 'client-stream-ended'; readonly kind: string; readonly reason: string }
  /** The following of blocks started or stopped. */
  | { readonly name: 'block-follower'; readonly state: FollowerState }
  | { readonly name: 'bug'; readonly error: unknown };

/** Receives events; must not throw. */
export type Report = (event: ProxyEvent) => void;
