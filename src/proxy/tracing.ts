import type { ErrorCode } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';

/**
 * Makes spans of requests (OpenTelemetry). Where there is none, no spans are made, and a client's `traceparent` goes to the
 * indexer as it is. Spans are passed on as the `traceparent` that names them.
 */
export interface Tracing {
  /** Begins the span of a client's request, under the client's own span if it names one. */
  startRequest(request: TracedRequest): RequestSpan;
  /** Begins the span of a request to the indexer, under the span that `traceparent` names; without one, a new trace. */
  startUpstream(call: Call, traceparent: string | undefined): UpstreamSpan;
  /** The same for a request that is passed through; its query may hold a client's key, and is not exported. */
  startForward(request: ForwardedRequest, traceparent: string | undefined): UpstreamSpan;
}

/** What is known of a client's request when it begins. */
export interface TracedRequest {
  readonly method: string;
  /** The path as it is written in lists: one for all that is passed through. */
  readonly route: string;
  readonly path: string;
  readonly traceparent: string | undefined;
}

/** What is sent for a request that is passed through. */
export interface ForwardedRequest {
  readonly method: string;
  readonly route: string;
  readonly path: string;
}

/** The route of all that is passed through. */
export const PASSED_ROUTE = '/api/v3/*';

/** The span of a client's request. */
export interface RequestSpan {
  /** Names this span. A request for which it is never read, and that memory answers, makes no span. */
  readonly traceparent: string;
  /** Ends the span with what the client gets; what is called later does nothing. */
  end(status: number, cacheStatus: string): void;
}

/** The span of a request to the indexer, which is ended once. */
export interface UpstreamSpan {
  readonly traceparent: string;
  /** Ends it with the status of the answer, or with the reason that there is none. */
  end(result: number | ErrorCode): void;
}
