import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer, UpstreamClient } from '../upstream/upstream-client.ts';
import type { Tracing, UpstreamSpan } from './tracing.ts';

export interface FetchTracedDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  /** Absent where no traces are exported. */
  readonly tracing: Tracing | undefined;
}

/**
 * {@link UpstreamClient.fetch} of a call, in a span of its own where traces are exported. The request then carries the
 * name of that span, otherwise the given `traceparent`.
 */
export function fetchTraced(
  { upstream, tracing }: FetchTracedDependencies,
  call: Call,
  traceparent: string | undefined,
  atMostMs: number | undefined,
): Promise<UpstreamAnswer> {
  const span = tracing?.startUpstream(call, traceparent);
  const { query, headers } = call.request;
  const sent = { operation: call.operation.name, query, headers, traceparent: span?.traceparent ?? traceparent };
  const fetched = upstream.fetch(sent, atMostMs);
  return span === undefined ? fetched : endingWith(fetched, span);
}

async function endingWith(fetched: Promise<UpstreamAnswer>, span: UpstreamSpan): Promise<UpstreamAnswer> {
  try {
    const answer = await fetched;
    span.end(answer.status);
    return answer;
  } catch (error) {
    span.end(error instanceof ProxyError ? error.code : 'internal');
    throw error;
  }
}
