import type { ErrorCode } from '../errors.ts';
import type { OperationName } from '../ton/operations.ts';
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
}

/** What is known of a client's request when it begins. */
export interface TracedRequest {
  readonly method: string;
  readonly operation: OperationName;
  readonly traceparent: string | undefined;
}

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
