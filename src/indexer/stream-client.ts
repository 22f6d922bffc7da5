import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { failure } from '../errors.ts';
import { connectorBy } from '../names/connector.ts';
import type { Names } from '../names/names.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { USER_AGENT } from '../version.ts';
import { located } from './location.ts';
import { unanswered } from './read-answer.ts';
import { retryAfterMs } from './retry-after.ts';
import { type ForwardedAnswer, type ForwardRequest, MAX_HEAD_BYTES } from './upstream-client.ts';

export interface StreamClientDependencies {
  readonly names: Names;
  readonly now: () => EpochMs;
  /** `http:` or `https:`. Its path replaces `/api` in targets. */
  readonly baseUrl: URL;
  /** The timeout of opening a connection, and of a TLS handshake in addition. */
  readonly timeoutMs: Ms;
}

/** An answer whose bytes are still to come: those of a stream, while it is open. */
export type StreamAnswer = Omit<ForwardedAnswer, 'body'> &
  (
    | { readonly isUpgraded: false; readonly body: HttpBody }
    /** The connection speaks another protocol from here on, in both directions. */
    | { readonly isUpgraded: true; readonly body: Socket }
  );

/** The body of an answer. `complete`: true once it has ended regularly by HTTP. */
type HttpBody = Readable & { readonly complete: boolean };

const API = '/api';

/**
 * Opens streams of the Streaming API for clients, each on its own connection, which ends with it. Undici does not show
 * the answer that refuses an Upgrade, and its bodies cannot be read without a pause.
 */
export class StreamClient {
  readonly #dependencies: StreamClientDependencies;
  readonly #basePath: string;
  readonly #connect: ReturnType<typeof connectorBy>;

  constructor(dependencies: StreamClientDependencies) {
    this.#dependencies = dependencies;
    this.#connect = connectorBy(dependencies.names, dependencies.timeoutMs);
    this.#basePath = dependencies.baseUrl.pathname.replace(/\/$/, '');
  }

  /**
   * Sends a request unchanged, with our `User-Agent`, and resolves when the head of its answer is there. The caller
   * reads all data without a pause. Rejects with a `ProxyError` (`upstream-unreachable`, `upstream-reset`,
   * `upstream-invalid`, or `overloaded` if this machine lacks a resource) or with the signal's reason.
   */
  readonly forward = (asked: ForwardRequest): Promise<StreamAnswer> => {
    const { now, baseUrl } = this.#dependencies;
    const { method, target, body, isUpgrade = false, signal } = asked;
    const { promise, resolve, reject } = Promise.withResolvers<StreamAnswer>();
    let isConnected = false;
    const path = this.#basePath + target.slice(API.length);
    const sending = httpRequest({
      method,
      path,
      headers: [
        ...['host', baseUrl.host, 'user-agent', USER_AGENT, ...asked.headers],
        ...(isUpgrade ? ['connection', 'Upgrade', 'upgrade', 'websocket'] : ['connection', 'close']),
        ...(body === undefined ? [] : ['content-length', String(body.length)]),
      ],
      maxHeaderSize: MAX_HEAD_BYTES,
      signal,
      createConnection: (_options, done) => {
        const { hostname, protocol, port, host } = baseUrl;
        this.#connect({ hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port }, (error, socket) => {
          isConnected = error === null;
          done(error, socket as Socket);
        });
        return undefined;
      },
    });
    const address = { origin: baseUrl.origin, path, basePath: this.#basePath, shownPath: API };
    const answer = ({ statusCode: status = 0, headers }: IncomingMessage) => ({
      status,
      ...located(status, headers, address),
      retryAfterMs: retryAfterMs(headers['retry-after'], now()),
    });
    sending.on('response', (response) => resolve({ ...answer(response), isUpgraded: false, body: response }));
    sending.on('upgrade', (response, socket, first) => {
      if (!isUpgrade) {
        socket.destroy();
        reject(failure('upstream-invalid'));
        return;
      }
      if (first.length > 0) socket.unshift(first);
      resolve({ ...answer(response), isUpgraded: true, body: socket as Socket });
    });
    sending.on('error', (cause) => reject(signal.aborted ? signal.reason : unanswered(cause, !isConnected)));
    // Without a connection, an aborted request emits nothing.
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    sending.end(body);
    return promise;
  };
}
