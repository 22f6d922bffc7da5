import { containerLimit } from '../admission/memory-pressure.ts';
import type { ClientStreaming } from '../http/streaming/streaming.ts';
import { credentialsFor, type OurCredentials } from '../indexer/credentials.ts';
import { pathAt } from '../indexer/path-at.ts';
import { StreamClient } from '../indexer/stream-client.ts';
import { reasonOf } from '../reason-of.ts';
import type { AppContext } from './context.ts';

/**
 * The server for the streams of clients, and what identifies us there. A login is for all of its origin, so a `stream.url`
 * at the origin of an indexer gets that of the indexer. Its path replaces `/api` in their targets. It is that of
 * `stream.url`, or else the first indexer.
 */
export function openStreamServer({ settings: { stream, upstream }, names, now }: AppContext) {
  const open = (baseUrl: URL, ours: OurCredentials | undefined) => ({
    ours,
    client: new StreamClient({ names, now, baseUrl, timeoutMs: upstream.timeout }),
  });
  if (stream.url !== undefined) {
    const url = new URL(stream.url.replace(/^ws/, 'http'));
    const [, base = '/api'] = /^(.*)\/streaming\/v2\/ws\/?$/.exec(url.pathname) ?? [];
    const indexers = [...upstream.url, ...(upstream.backup.url ?? [])];
    const same = indexers.find((each) => new URL(each).origin === url.origin);
    return open(new URL(`${url.origin}${base}`), credentialsFor(same ?? url.origin, stream.apiKey));
  }
  const { origin, pathname } = new URL(upstream.url[0]);
  return open(new URL(pathAt(pathname, '/api'), origin), credentialsFor(upstream.url[0], upstream.apiKey));
}

/** Any 16 bytes: this client does not check the answer to them (RFC 6455, section 4.1). */
const HANDSHAKE_KEY = Buffer.from('toncache is here').toString('base64');

/** Opens a WebSocket and closes it. Resolves with the reason why it cannot be opened, if it cannot. Never rejects. */
export async function tryStream(context: AppContext): Promise<string | undefined> {
  const { client, ours } = openStreamServer(context);
  const signal = AbortSignal.timeout(context.settings.upstream.timeout);
  try {
    const { isUpgraded, status, body } = await client.forward({
      method: 'GET',
      target: '/api/streaming/v2/ws',
      headers: ['sec-websocket-version', '13', 'sec-websocket-key', HANDSHAKE_KEY, ...(ours?.headers ?? [])],
      body: undefined,
      isUpgrade: true,
      signal,
    });
    body.destroy();
    return isUpgraded ? undefined : `it answers ${status}`;
  } catch (error) {
    return (signal.aborted ? undefined : reasonOf(error)) ?? 'no response in time';
  }
}

/** Adds the metrics of the streams of clients. */
export function addStreamMetrics({ metrics }: AppContext, { streams }: ClientStreaming): void {
  for (const kind of ['websocket', 'sse'] as const)
    metrics.gauge('client_streams', 'Open client streams.', () => streams.count(kind), { kind });
  const help = 'Client requests to the Streaming API, by the status of the response or the error code of the failure.';
  metrics.count('client_stream_requests_total', help, ['result'], {
    'client-stream': ({ result }) => [String(result)],
  });
  metrics.count('client_streams_ended_total', 'Client streams that ended, by reason.', ['kind', 'reason'], {
    'client-stream-ended': ({ kind, reason }) => [kind, reason],
  });
}

/** The maximum number of bytes that wait in all streams of clients, if the container has no memory limit. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

/** The maximum number of bytes that wait in all streams of clients: a sixteenth of the memory that may be used. */
export function waitingBytesOf({ admission }: AppContext['settings']): number {
  const limitBytes = containerLimit();
  return limitBytes === undefined ? MOST_WAITING_BYTES : (limitBytes * admission.maxMemoryShare) / 16;
}
