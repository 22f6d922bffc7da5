import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import type { ErrorCode } from '../errors.ts';
import type { ForwardedRequest, RequestSpan, TracedRequest, Tracing, UpstreamSpan } from '../proxy/tracing.ts';
import type { Call } from '../ton/parse-call.ts';
import { openSpanExport, type SpanExportOptions } from './span-export.ts';

export interface OpenTelemetryOptions extends SpanExportOptions {
  /** The indexer's address, without `/api/v3`. */
  readonly upstreamUrl: string;
}

/** How long the last spans may take at the end of the process, in milliseconds. */
const LAST_SPANS_MS = 1000;

/**
 * Hits in memory make no span: a hit costs 9 to 40 µs of CPU time, and a span would add 3 to 7 µs, without its export.
 */
const FROM_MEMORY = /^toncache; hit;.* detail=memory$/;

/**
 * Tracing by the official SDK; no request waits for an export. Attributes are those of the semantic conventions for HTTP
 * (OpenTelemetry 1.23 and later).
 */
export class OpenTelemetry implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #upstream: URL;

  constructor(options: OpenTelemetryOptions) {
    this.#provider = openSpanExport(options);
    this.#tracer = this.#provider.getTracer('toncache');
    this.#upstream = new URL(options.upstreamUrl);
  }

  startRequest(request: TracedRequest): RequestSpan {
    return new LazyRequestSpan(this.#tracer, request);
  }

  startUpstream({ operation: { name }, request }: Call, traceparent: string | undefined): UpstreamSpan {
    const query = request.query.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
    const route = `/api/v3/${name}`;
    // The URL is that of the canonical call, so no client's key can be in it.
    return this.#startClient({ method: 'GET', route, target: `${route}?${query}` }, traceparent);
  }

  startForward({ method, route, path }: ForwardedRequest, traceparent: string | undefined): UpstreamSpan {
    return this.#startClient({ method, route, target: path }, traceparent);
  }

  #startClient(
    { method, route, target }: { method: string; route: string; target: string },
    traceparent: string | undefined,
  ): UpstreamSpan {
    const { href, hostname, port, protocol } = this.#upstream;
    const attributes = {
      'http.request.method': method,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'url.full': href.replace(/\/$/, '') + target,
    };
    const span = this.#tracer.startSpan(
      `${method} ${route}`,
      { kind: SpanKind.CLIENT, attributes },
      contextOf(traceparent),
    );
    return {
      traceparent: traceparentOf(span),
      end: (result) => {
        if (typeof result === 'number') endHttp(span, result, 400);
        else endWith(span, result);
      },
    };
  }

  /** Exports the last spans, within a second; later ones are lost. Never rejects. */
  async close(): Promise<void> {
    const tooLong = new Promise<void>((resolve) => setTimeout(resolve, LAST_SPANS_MS).unref());
    // A failure is in the log already.
    await Promise.race([this.#provider.shutdown().catch(() => {}), tooLong]);
  }
}

/** A span that is only made when its name is read or when it ends. It begins with the request in any case. */
class LazyRequestSpan implements RequestSpan {
  readonly #tracer: Tracer;
  readonly #request: TracedRequest;
  /** Monotonic milliseconds. The SDK converts them by the wall clock at the time when the span is made. */
  readonly #startTime = performance.now();
  #span: Span | undefined;
  #hasEnded = false;

  constructor(tracer: Tracer, request: TracedRequest) {
    this.#tracer = tracer;
    this.#request = request;
  }

  get traceparent(): string {
    return traceparentOf(this.#made());
  }

  end(status: number, cacheStatus: string): void {
    if (this.#hasEnded || (this.#span === undefined && FROM_MEMORY.test(cacheStatus))) return;
    this.#hasEnded = true;
    const span = this.#made();
    span.setAttribute('toncache.cache_status', cacheStatus);
    endHttp(span, status, 500);
  }

  #made(): Span {
    if (this.#span !== undefined) return this.#span;
    const { method, route, path, traceparent } = this.#request;
    const attributes = { 'http.request.method': method, 'http.route': route, 'url.path': path, 'url.scheme': 'http' };
    this.#span = this.#tracer.startSpan(
      `${method} ${route}`,
      { kind: SpanKind.SERVER, startTime: this.#startTime, attributes },
      contextOf(traceparent),
    );
    return this.#span;
  }
}

/**
 * Ends a span with a status. By the semantic conventions a 4xx is an error of the client's span, not of the server's.
 */
function endHttp(span: Span, status: number, errorsFrom: 400 | 500): void {
  span.setAttribute('http.response.status_code', status);
  endWith(span, status >= errorsFrom ? String(status) : undefined);
}

function endWith(span: Span, error: ErrorCode | string | undefined): void {
  if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
  span.end(performance.now());
}

/** The span that a well-formed `traceparent` names, as the parent of another. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = traceparent?.split('-') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 });
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}
