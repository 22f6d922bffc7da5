import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProxyError } from '../../errors.ts';
import type { StreamAnswer } from '../../indexer/stream-client.ts';
import {
  type PassedRequest,
  type PassedTo,
  type PassOnParts,
  type PassThrough,
  passOnWith,
} from '../pass-through/pass-on.ts';
import { messageHead } from '../public/response-message.ts';
import { ClientStreams, type ClientStreamsOptions, type Place } from './client-streams.ts';
import type { StreamSides } from './stream.ts';

/** With these the server has opened a stream. */
const ACCEPTED: readonly number[] = [101, 200];

/** The paths below these belong to the Streaming API. */
export const STREAM_PATHS: readonly string[] = ['/api/streaming/'];

export interface StreamingDependencies extends PassOnParts, Omit<ClientStreamsOptions, 'onEnd'> {
  /** The server of the Streaming API. */
  readonly upstream: PassedTo<StreamAnswer>;
  /** The header by which a request names its client, if that is not read. */
  readonly unreadHeaderOf: (request: IncomingMessage) => string | undefined;
}

/** The Streaming API, passed through to its server. */
export interface ClientStreaming {
  readonly streams: Pick<ClientStreams, 'count' | 'lasting' | 'close'>;
  readonly pass: PassThrough;
}

/**
 * Passes the Streaming API through: WebSockets, server-sent events, and its other answers. Until the head of its answer
 * arrives, a request counts as one that is passed through to the first indexer, with its slots and its rate, even if
 * `stream.url` names another server. Then the stream holds neither.
 */
export function openStreaming(dependencies: StreamingDependencies): ClientStreaming {
  const { upstream, unreadHeaderOf, report } = dependencies;
  const passOn = passOnWith({
    ...dependencies,
    upstreams: [upstream],
    at: 0,
    hasOurKey: upstream.ours !== undefined,
    repeats: false,
  });
  const streams = new ClientStreams({
    ...dependencies,
    onEnd: (kind, reason) => report({ name: 'client-stream-ended', kind, reason }),
  });
  let isProxyReported = false;
  /** A client has its maximum of streams. If its request names another one, clients of a proxy may count as one. */
  const onMaximum = (request: IncomingMessage) => {
    const header = unreadHeaderOf(request);
    if (header === undefined || isProxyReported) return;
    isProxyReported = true;
    report({ name: 'streams-of-proxy', address: request.socket.remoteAddress ?? '', header });
  };
  const pass: PassThrough = async (passed) => {
    const place: Place = { client: passed.client };
    try {
      const { answer, isOurs } = await passOn(passed, () => {
        try {
          return streams.take(place);
        } catch (error) {
          onMaximum(passed.request);
          throw error;
        }
      });
      report({ name: 'client-stream', result: answer.status });
      streams.join(place, begin(answer, passed), ACCEPTED.includes(answer.status));
      return { outcome: 'miss', status: answer.status, isOurs };
    } catch (error) {
      streams.give(place);
      if (error instanceof ProxyError) report({ name: 'client-stream', result: error.code });
      throw error;
    }
  };
  return { streams, pass };
}

/** Sends the head of an answer. */
function begin(answer: StreamAnswer, { response, headersOf }: PassedRequest): StreamSides {
  if (answer.isUpgraded) {
    const client = switchProtocols(response, headersOf(answer));
    return { kind: 'websocket', client, upstream: answer.body };
  }
  const { body, headers, status } = answer;
  if (!response.destroyed) response.writeHead(status, headersOf(answer)).flushHeaders();
  const kind = /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? 'sse' : 'answer';
  return { kind, client: response, upstream: body, isComplete: () => body.complete };
}

/** Answers an Upgrade, and returns the connection that the answer was written to. */
function switchProtocols(response: ServerResponse, passed: readonly string[]): Socket {
  const socket = response.req.socket;
  if (response.destroyed || socket.destroyed) return socket;
  response.detachSocket(socket);
  // While there is such a listener no data flows.
  socket.removeAllListeners('readable');
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket', ...passed];
  socket.write(`${messageHead({ status: 101, headers })}\r\n`, 'latin1');
  return socket;
}
