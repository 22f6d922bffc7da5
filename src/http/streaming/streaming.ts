import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProxyError } from '../../errors.ts';
import type { StreamAnswer } from '../../indexer/stream-client.ts';
import {
  type PassedRequest,
  type PassedTo,
  type PassOnParts,
  type PassThrough,
  passedHeaders,
  passOnWith,
} from '../pass-through/pass-on.ts';
import type { Origins } from '../public/origins.ts';
import { messageHead } from '../public/response-message.ts';
import { ClientStreams, type ClientStreamsOptions } from './client-streams.ts';

/** The paths below these belong to the Streaming API. */
export const STREAM_PATHS: readonly string[] = ['/api/streaming/'];

export interface StreamingDependencies extends PassOnParts, Omit<ClientStreamsOptions, 'onEnd'> {
  /** The server of the Streaming API. */
  readonly upstream: PassedTo<StreamAnswer>;
  readonly origins: Origins;
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
  const { upstream, report, origins } = dependencies;
  const passOn = passOnWith({
    ...dependencies,
    upstreams: [upstream],
    at: 0,
    hasOurKey: upstream.apiKey !== undefined,
  });
  const streams = new ClientStreams({
    ...dependencies,
    onEnd: (kind, reason) => report({ name: 'client-stream-ended', kind, reason }),
  });
  const pass: PassThrough = async (passed) => {
    let giveBack = () => {};
    try {
      const answer = await passOn(passed, (withOurKey) => {
        const refusal = streams.refusal(passed.client, withOurKey);
        if (refusal === undefined) giveBack = streams.take(passed.client, withOurKey);
        return refusal;
      });
      report({ name: 'client-stream', result: answer.status });
      begin(answer, passed, streams, giveBack, origins);
    } catch (error) {
      giveBack();
      if (error instanceof ProxyError) report({ name: 'client-stream', result: error.code });
      throw error;
    }
  };
  return { streams, pass };
}

function begin(
  answer: StreamAnswer,
  passed: PassedRequest,
  streams: ClientStreams,
  onEnd: () => void,
  origins: Origins,
): void {
  const { response, requestId } = passed;
  if (answer.isUpgraded) {
    const client = switchProtocols(response, answer, requestId, origins);
    streams.join({ kind: 'websocket', client, upstream: answer.body }, onEnd);
    return;
  }
  const { body, headers, status } = answer;
  if (!response.destroyed) response.writeHead(status, passedHeaders(answer, requestId)).flushHeaders();
  const kind = /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? 'sse' : 'answer';
  streams.join({ kind, client: response, upstream: body, isComplete: () => body.complete }, onEnd);
}

/** Answers an Upgrade, and returns the connection that the answer was written to. */
function switchProtocols(response: ServerResponse, answer: StreamAnswer, requestId: string, origins: Origins): Socket {
  const socket = response.req.socket;
  if (response.destroyed || socket.destroyed) return socket;
  response.detachSocket(socket);
  // While there is such a listener no data flows.
  socket.removeAllListeners('readable');
  const passed = origins.headersFor(response.req.headers.origin, passedHeaders(answer, requestId));
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket', ...passed];
  socket.write(`${messageHead({ status: 101, headers, body: undefined })}\r\n`, 'latin1');
  return socket;
}
