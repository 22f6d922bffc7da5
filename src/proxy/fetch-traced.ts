import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer, UpstreamClient } from '../upstream/upstream-client.ts';
import type { Tracing } from './tracing.ts';

export interface FetchTracedDependencies {
  readonly upstream: UpstreamClient;
  /** Absent where no traces are exported. */
  readonly tracing: Tracing | undefined;
}

/**
 * {@link UpstreamClient.fetch} of a call, in a span of its own where traces are exported. The request then carries the
 * name of that span, otherwise the given `traceparent`.
 */
export async function fetchTraced(
  { upstream, tracing }: FetchTracedDependencies,
  call: Call,
  traceparent: string | undefined,
  atMostMs: number | undefined,
): Promise<UpstreamAnswer> {
  const span = tracing?.startUpstream(call, traceparent);
  const sent = { operation: call.operation.name, traceparent: span?.traceparent ?? traceparent, ...call.request };
  try {
    const answer = await upstream.fetch(sent, atMostMs);
    span?.end(answer.status);
    return answer;
  } catch (error) {
    span?.end(error instanceof ProxyError ? error.code : 'internal');
    throw error;
  }
}
