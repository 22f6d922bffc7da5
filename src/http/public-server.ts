import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProxyError } from '../errors.ts';
import type { Answer } from '../proxy/answer.ts';
import type { ProxyRequest } from '../proxy/handle-request.ts';
import { OpenWaits, type Wait } from '../proxy/open-waits.ts';
import { findOperation, type Operation } from '../ton/operations.ts';
import { ClientConnections } from './client-connections.ts';
import { ALLOWED_METHODS } from './cors.ts';
import { refusedFraming } from './framing.ts';
import { isOfApi, parseTarget, requestId, type Target } from './parse-request.ts';
import type { PassThroughServer } from './pass-through-server.ts';
import { sendError } from './send-error.ts';
import { type ResponseContext, sendEntry, sendPreflight } from './send-response.ts';
import { SlowReaders } from './slow-readers.ts';

export interface PublicServerOptions {
  /** Serves the rest of `/api/v3/`; without it only the operations are served. */
  readonly passThrough?: PassThroughServer | undefined;
  readonly handle: (request: ProxyRequest) => Answer | Promise<Answer>;
  /** How long a request may wait for its answer, in milliseconds. */
  readonly waitMs: number;
  /** The most requests that wait at once. */
  readonly maxWaiting: number;
  readonly maxHeaderBytes: number;
  readonly headerTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly maxConnections: number;
  /** A client that takes less than 16 KiB of its answer in this long is cut. */
  readonly slowReaderMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told of what should never happen. */
  readonly onBug: (error: unknown) => void;
}

/** How long the answers of those who were given up have to leave the process. */
const LAST_WORDS_MS = 500;

/** The public port: the three operations over HTTP, and a drain that loses no answer. */
export class PublicServer {
  readonly #options: PublicServerOptions;
  readonly #waits: OpenWaits;
  readonly server: Server;
  readonly #connections: ClientConnections;
  readonly #slowReaders: SlowReaders;
  /** Connections that are about to be closed, since nobody can tell where a request on them ends. */
  readonly #refused = new WeakSet<Socket>();
  #draining = false;

  constructor(options: PublicServerOptions) {
    this.#options = options;
    this.#waits = new OpenWaits({ timeoutMs: options.waitMs, maxOpen: options.maxWaiting });
    const connections = new ClientConnections(options.maxWaiting);
    this.#connections = connections;
    this.server = createServer(
      {
        // Also of requests that Node answers by itself, such as one without Host.
        ServerResponse: class<R extends IncomingMessage> extends ServerResponse<R> {
          constructor(...given: ConstructorParameters<typeof ServerResponse<R>>) {
            super(...given);
            connections.onResponse(given[0], this);
          }
        },
        maxHeaderSize: options.maxHeaderBytes,
        headersTimeout: options.headerTimeoutMs,
        requestTimeout: options.headerTimeoutMs,
        keepAliveTimeout: options.keepAliveMs,
        connectionsCheckingInterval: 1000,
      },
      (request, response) => this.#serve(request, response),
    );
    this.server.on('connection', (socket) => connections.add(socket));
    this.server.maxConnections = options.maxConnections;
    this.#slowReaders = new SlowReaders(connections.sockets, options.slowReaderMs);
    // Node cuts a connection on which nothing moved for so long. A request that waits for the indexer has its own
    // deadline and must not be cut before.
    this.server.timeout = Math.max(options.slowReaderMs, options.waitMs + LAST_WORDS_MS);
  }

  /** Requests that were read and whose answers have not been sent yet. */
  get requestsInFlight(): number {
    return this.#connections.unanswered;
  }

  /**
   * Takes no new connections, answers what is in flight with `Connection: close`, and resolves when all connections
   * have ended; those still waiting after `limitMs` are answered 503 and cut soon after.
   */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    // Node ends connections that are idle after an answer; one that was opened ahead of its first request counts as busy.
    for (const socket of this.#connections.sockets) if (socket.bytesRead === 0) socket.destroy();
    const giveUp = setTimeout(() => this.#waits.endAll(), limitMs);
    const cut = setTimeout(() => this.server.closeAllConnections(), limitMs + LAST_WORDS_MS);
    await closed;
    this.#slowReaders.close();
    clearTimeout(giveUp);
    clearTimeout(cut);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // Node closes the connection when the refusal has left, but has parsed the rest of what it had read by then.
    if (this.#refused.has(request.socket)) return;
    const refused = refusedFraming(request);
    if (refused !== undefined) {
      // Where its body ends is not to be trusted, and so what follows it.
      this.#refused.add(request.socket);
      response.shouldKeepAlive = false;
      this.#fail(request, response, '', refused);
      return;
    }
    const target = parseTarget(request.url ?? '');
    const operation = findOperation(target.path);
    const passThrough = operation === undefined && isOfApi(target) ? this.#options.passThrough : undefined;
    if (operation === undefined && passThrough === undefined) {
      this.#fail(request, response, '', new ProxyError('not-found', 'nothing is served at this path'));
    } else if (request.method === 'OPTIONS') {
      sendPreflight(response, passThrough !== undefined, requestId(request), this.#draining);
    } else if (operation === undefined) {
      if (passThrough !== undefined) this.#passThrough(request, response, target, passThrough);
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      const allow = ALLOWED_METHODS;
      const error = new ProxyError('method-not-allowed', `accepted: ${allow}`, { allow });
      this.#fail(request, response, operation.vary, error);
    } else {
      this.#answer(request, response, operation, target.rawQuery);
    }
  }

  #passThrough(request: IncomingMessage, response: ServerResponse, target: Target, server: PassThroughServer): void {
    let wait: Wait | undefined;
    const openWait = () => {
      wait = this.#openWait(request);
      return wait;
    };
    const id = requestId(request);
    server
      .serve({ request, response, target: target.originForm, openWait, requestId: id, closing: this.#draining })
      .catch((error: unknown) => this.#fail(request, response, '', error))
      .finally(() => this.#closeWait(wait, request));
  }

  #openWait(request: IncomingMessage): Wait | undefined {
    const wait = this.#waits.open();
    if (wait !== undefined) this.#connections.endWithClient(wait, request);
    return wait;
  }

  #closeWait(wait: Wait | undefined, request: IncomingMessage): void {
    if (wait === undefined) return;
    wait.close();
    this.#connections.forget(wait, request);
  }

  #answer(request: IncomingMessage, response: ServerResponse, operation: Operation, rawQuery: string): void {
    let wait: Wait | undefined;
    const openWait = () => {
      wait = this.#openWait(request);
      return wait;
    };
    try {
      const { headers } = request;
      const answer = this.#options.handle({ operation, rawQuery, headers, openWait });
      if (!(answer instanceof Promise)) {
        this.#send(request, response, operation, answer);
        return;
      }
      answer
        .then((landed) => {
          this.#closeWait(wait, request);
          this.#send(request, response, operation, landed);
        })
        .catch((error: unknown) => {
          this.#closeWait(wait, request);
          this.#fail(request, response, operation.vary, error);
        });
    } catch (error) {
      this.#fail(request, response, operation.vary, error);
    }
  }

  #send(request: IncomingMessage, response: ServerResponse, { vary }: Operation, answer: Answer): void {
    const { cacheStatus } = answer;
    const fromMemory = cacheStatus.hit === true && cacheStatus.detail === 'memory';
    const context = this.#context(cacheStatus, vary, fromMemory ? undefined : requestId(request));
    if (answer.kind === 'entry') sendEntry(request, response, answer.entry, context, this.#options.now());
    else if (!response.destroyed) sendError(request, response, answer.error, context);
  }

  #fail(request: IncomingMessage, response: ServerResponse, vary: string, error: unknown): void {
    const known = error instanceof ProxyError;
    if (!known) this.#options.onBug(error);
    const failure = known ? error : new ProxyError('internal', 'internal error', { cause: error });
    if (response.headersSent) response.destroy();
    else sendError(request, response, failure, this.#context({ detail: failure.code }, vary, requestId(request)));
  }

  #context(cacheStatus: Answer['cacheStatus'], vary: string, id: string | undefined): ResponseContext {
    return { cacheStatus, vary, requestId: id, closing: this.#draining };
  }
}
