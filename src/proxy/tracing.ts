import type { ErrorCode } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';

/**
 * Makes spans of requests (OpenTelemetry). Without tracing no spans are made, and a client's `traceparent` is sent to
 * the indexer as it is. With it, the `traceparent` that is sent names the proxy's own span.
 */
export interface Tracing {
  /** Begins the span of a client's request, under the client's own span if it names one. */
  startRequest(request: TracedRequest): RequestSpan;
  /** Begins the span of a request to the indexer, under the span that `traceparent` names; without one, a new trace. */
  startUpstream(call: Call, traceparent: string | undefined): UpstreamSpan;
  /** The same for a passed-through request. Its query is not exported, because it may hold a client's key. */
  startForward(request: ForwardedRequest, traceparent: string | undefined): UpstreamSpan;
}

/** A client's request, as it begins. */
export interface TracedRequest {
  readonly method: string;
  /** The path pattern that names the span; all passed-through requests share one. */
  readonly route: string;
  readonly path: string;
  readonly traceparent: string | undefined;
}

/** A passed-through request, as it is sent to the indexer. */
export interface ForwardedRequest {
  readonly method: string;
  readonly route: string;
  readonly path: string;
}

/** The route of all passed-through requests. */
export const PASSED_ROUTE = '/api/v3/*';

/** The span of a client's request. */
export interface RequestSpan {
  /** Names this span. If it is never read and memory answers the request, no span is made. */
  readonly traceparent: string;
  /** Ends the span with what the client gets. Further calls do nothing. */
  end(status: number, cacheStatus: string): void;
}

/** The span of a request to the indexer, which is ended once. */
export interface UpstreamSpan {
  readonly traceparent: string;
  /** Ends the span with the status of the answer, or with the reason why there is none. */
  end(result: number | ErrorCode): void;
}
