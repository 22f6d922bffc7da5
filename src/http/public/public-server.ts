import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryHits } from '../../answer/handle-request.ts';
import { requestIdOf } from '../../answer/request-trace.ts';
import type { Gzip } from '../../cache/gzip.ts';
import { failure, type ProxyError } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { OperationsInUse } from '../../ton/operations.ts';
import { FastLane } from '../fast/fast-lane.ts';
import { HEALTH } from '../health.ts';
import { isBelow, parseTarget, type Target } from '../parse-request.ts';
import { asksForWebSocket, type PassThrough } from '../pass-through/pass-on.ts';
import { STREAM_PATHS } from '../streaming/streaming.ts';
import { ClientConnections } from './client-connections.ts';
import { type ClientTimeoutSettings, ClientTimeouts, nodeTimeouts } from './client-timeouts.ts';
import { MOST_FIELDS, originIn, refusedFraming, type UnparsedCode, unparsed, unparsedCodeOf } from './framing.ts';
import { Origins, responsesFor } from './origins.ts';
import { Responder, type ResponderDependencies } from './responder.ts';
import {
  ALLOWED_METHODS,
  CLOSE_END,
  healthMessage,
  messageHead,
  preflightMessage,
  type ResponseMessage,
  sendMessage,
} from './response-message.ts';
import { notServedAt, type ServedPaths, servedAt } from './served-paths.ts';

export interface PublicServerDependencies
  extends Omit<ResponderDependencies, 'connections'>,
    ClientTimeoutSettings,
    ServedPaths {
  /** The hits that the fast lane may answer by itself; without them there is no fast lane. */
  readonly hits?: MemoryHits | undefined;
  readonly gzip: Pick<Gzip, 'bodyFor' | 'move'>;
  readonly maxHeaderBytes: number;
  /** Default: any. */
  readonly origins?: Origins | undefined;
  /** The maximum number of open client connections, read for each new one. */
  readonly maxConnections: () => number;
}

/** `_httpMessage`: the response being sent; Node's own listener for `clientError` reads it too. */
type ParsedSocket = Socket & { readonly _httpMessage?: ServerResponse };

/** An error of Node's parser, with the bytes that it could not read. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** The time in which clients that send one request after the other must send their last one. */
const LAST_REQUEST_MS = 250;

/**
 * The time for the first request of a connection that was accepted last. A packet that is lost three times takes 1.4 s:
 * Linux sends it again after 200, 400 and 800 ms (RFC 6298, section 5.5).
 */
const FIRST_REQUEST_MS = 2000;

/** The time in which the 503s at the end of a drain must leave the process. */
const LAST_WORDS_MS = 500;

/** The public port: the operations over HTTP, the rest of the API, health paths, and a drain that loses no answer. */
export class PublicServer {
  readonly #dependencies: PublicServerDependencies;
  readonly server: Server;
  readonly #connections: ClientConnections;
  readonly #responder: Responder;
  readonly #fastLane: FastLane | undefined;
  readonly #timeouts: ClientTimeouts;
  readonly #origins: Origins;
  readonly #Response: ReturnType<typeof responsesFor>;

  constructor(dependencies: PublicServerDependencies) {
    this.#dependencies = dependencies;
    const connections = new ClientConnections();
    this.#connections = connections;
    this.#responder = new Responder({ ...dependencies, connections });
    this.#origins = dependencies.origins ?? new Origins();
    const Response = responsesFor(this.#origins);
    this.#Response = Response;
    this.server = createServer(
      {
        ServerResponse: class<R extends IncomingMessage> extends Response<R> {
          constructor(...given: ConstructorParameters<typeof Response<R>>) {
            super(...given);
            connections.onResponse(given[0].socket, this);
          }
        },
        // `refusedFraming` refuses it.
        requireHostHeader: false,
        maxHeaderSize: dependencies.maxHeaderBytes,
        shouldUpgradeCallback: (request) => this.#isUpgraded(request),
        ...nodeTimeouts(dependencies),
      },
      (request, response) => onceFirst(response, () => this.#serve(request, response)),
    );
    // A Node before 24.9 does not ask, and would leave each request with an Upgrade to this listener.
    if ('shouldUpgradeCallback' in this.server) {
      this.server.on('upgrade', (request, socket, first) => this.#upgrade(request, socket as Socket, first));
    }
    this.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      // Node itself would send `100 Continue` immediately: into the answer to the previous request.
      onceFirst(response, () => {
        response.writeContinue();
        this.#serve(request, response);
      });
    });
    this.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      onceFirst(response, () => {
        // The client may send its body or not, so nobody can tell where its next request begins.
        response.shouldKeepAlive = false;
        this.#sendFailure(request, response, '', failure('unsupported-expectation'));
      });
    });
    Object.defineProperty(this.server, 'maxConnections', { get: dependencies.maxConnections });
    // Node ignores the fields after these, which the refusal must see.
    this.server.maxHeadersCount = MOST_FIELDS + 1;
    this.server.on('clientError', (error: ParseError, socket: ParsedSocket) => this.#onUnparsed(error, socket));
    this.#fastLane = this.#openFastLane();
    this.#timeouts = new ClientTimeouts({
      ...dependencies,
      connections: connections.all,
      lanes: this.#fastLane?.lanes ?? [],
      sendRefusal: (socket, code) => this.#sendRefusal(socket, code),
    });
  }

  /** Puts the fast lane, if enabled, before the HTTP server's own listener for connections. */
  #openFastLane(): FastLane | undefined {
    const connections = this.#connections;
    const { hits, requestLimit, passThrough, operations } = this.#dependencies;
    if (hits === undefined) {
      this.server.on('connection', (socket) => connections.leaveToNode(connections.open(socket)));
      return undefined;
    }
    const listeners = this.server.listeners('connection');
    this.server.removeAllListeners('connection');
    const lane = new FastLane({
      ...this.#dependencies,
      hits,
      origins: this.#origins,
      // Any other request for a further operation may be one to pass through, which needs Node's HTTP server.
      operations: passThrough === undefined ? operations : new OperationsInUse(),
      connections,
      listener: (socket) => {
        for (const listener of listeners) listener.call(this.server, socket);
      },
      responder: this.#responder,
      sendRefusal: (socket, code) => this.#sendRefusal(socket, code),
      hasLimits: requestLimit !== undefined,
    });
    this.server.on('connection', (socket) => lane.take(connections.open(socket)));
    return lane;
  }

  /** Requests that were read and whose answers have not been sent. */
  get requestsInFlight(): number {
    return this.#connections.unanswered;
  }

  /**
   * From now on each answer has `Connection: close`, except one of the fast lane with requests waiting behind it. New
   * connections are still accepted for `delayMs`, and at least for a moment if there are clients. Then idle connections
   * are closed, those without a first request a moment later, and this resolves when all have ended. Requests that
   * still wait after `limitMs` more get 503, and their connections are cut soon after.
   */
  async drain(limitMs: Ms, delayMs: Ms = 0): Promise<void> {
    this.#connections.isDraining = true;
    await sleep(this.#connections.count > 0 ? Math.max(delayMs, LAST_REQUEST_MS) : delayMs);
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const giveUp = setTimeout(() => {
      this.#connections.endWaits();
      this.#dependencies.streaming?.streams.close();
    }, limitMs);
    const cut = setTimeout(() => {
      for (const { socket } of this.#connections.all) socket.destroy();
    }, limitMs + LAST_WORDS_MS);
    // The first request of a connection that was accepted last may be on its way.
    if (this.#unused().length > 0) await Promise.race([closed, sleep(FIRST_REQUEST_MS)]);
    // Node ends connections that are idle after an answer. A connection without a first request counts as busy.
    for (const socket of this.#unused()) socket.destroy();
    this.#fastLane?.drain();
    // A stream learns after this that its connection has closed.
    this.#connections.onClosed = () => void setImmediate(() => this.#endStreams());
    this.#endStreams();
    await closed;
    this.#timeouts.close();
    clearTimeout(giveUp);
    clearTimeout(cut);
  }

  /** Ends the streams of clients when no other connection is open. */
  #endStreams(): void {
    const { streaming } = this.#dependencies;
    if (streaming !== undefined && this.#connections.count <= streaming.streams.lasting) streaming.streams.close();
  }

  /** The connections that have received no bytes. */
  #unused(): Socket[] {
    return [...this.#connections.all].flatMap(({ socket }) => (socket.bytesRead === 0 ? socket : []));
  }

  /**
   * True if a request continues as a WebSocket of the Streaming API, if that accepts it; every other request is an
   * ordinary one.
   */
  #isUpgraded(request: IncomingMessage): boolean {
    const { method, url = '', headers, socket } = request;
    const hasBody = (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
    return (
      this.#dependencies.streaming !== undefined &&
      isBelow(STREAM_PATHS, parseTarget(url)) &&
      asksForWebSocket(request) &&
      method === 'GET' &&
      !hasBody &&
      this.#connections.isAnswered(socket)
    );
  }

  /** Serves a request whose connection Node's HTTP server has given away. `first`: the bytes after its head. */
  #upgrade(request: IncomingMessage, socket: Socket, first: Buffer): void {
    socket.setTimeout(0);
    // A `close` follows each error.
    socket.on('error', () => {});
    if (first.length > 0) socket.unshift(first);
    // A WebSocket has no half-open state: a client that closes its side has left.
    socket.once('end', () => socket.destroySoon());
    // Only reading shows this. Bytes before the answer stay in the socket, for the stream.
    socket.on('readable', () => {
      if (socket.readableLength === 0) socket.read();
    });
    const response = new this.#Response(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    this.#serve(request, response, true);
  }

  #serve(request: IncomingMessage, response: ServerResponse, isUpgrade = false): void {
    if (this.#connections.isDraining) response.shouldKeepAlive = false;
    const refused = refusedFraming(request);
    if (refused !== undefined) {
      // Nobody can tell where its body ends and the next request begins, so no later request is served.
      response.shouldKeepAlive = false;
      this.#sendFailure(request, response, '', refused);
      return;
    }
    const { method, headers } = request;
    const target = parseTarget(request.url ?? '');
    const isCacheable = method === 'GET' || method === 'HEAD';
    const health = HEALTH.get(target.path);
    // Does not count as a client's request. HAProxy's `option httpchk /readyz` uses OPTIONS.
    if (health !== undefined && (isCacheable || method === 'OPTIONS')) {
      const { status, body } = health.answer(!this.#connections.isDraining);
      this.#send(request, response, healthMessage(status, body, requestIdOf(headers)));
      return;
    }
    // A preflight does not count: browsers hide its status.
    const refusal = method === 'OPTIONS' ? undefined : this.#responder.refusal(request.socket, headers);
    if (refusal !== undefined) {
      this.#send(request, response, refusal);
      return;
    }
    const { operation, pass: passThrough } = servedAt(target, this.#dependencies);
    const isRefused = this.#origins.refuses(headers);
    const refuse = () => this.#sendFailure(request, response, operation?.vary ?? '', failure('origin-not-allowed'));
    const pass = passThrough && (() => this.#passThrough(request, response, target, passThrough, isUpgrade));
    // The rules of browsers do not cover WebSockets, and a page may send a simple POST without asking.
    const passOn = pass && isRefused ? refuse : pass;
    if (operation === undefined && passOn === undefined) {
      const isHealth = HEALTH.has(target.path);
      const refused = isHealth ? methodNotAllowed() : notServedAt(target, this.#dependencies);
      this.#sendFailure(request, response, '', refused);
    } else if (method === 'OPTIONS' && isRefused) {
      refuse();
    } else if (method === 'OPTIONS') {
      this.#send(request, response, preflightMessage(passOn !== undefined, requestIdOf(headers)));
    } else if (passOn !== undefined && (operation === undefined || !isCacheable)) {
      passOn();
    } else if (operation === undefined || !isCacheable) {
      this.#sendFailure(request, response, operation?.vary ?? '', methodNotAllowed());
    } else {
      const send = (message: ResponseMessage) => this.#send(request, response, message);
      this.#responder.answer({ operation, rawQuery: target.rawQuery, headers }, request.socket, send, passOn);
    }
  }

  #passThrough(
    request: IncomingMessage,
    response: ServerResponse,
    { originForm: target }: Target,
    pass: PassThrough,
    isUpgrade: boolean,
  ): void {
    const { headers, socket } = request;
    const openWait = () => this.#responder.openWait(socket, headers);
    const client = this.#dependencies.clientOf(socket, headers);
    const requestId = requestIdOf(headers);
    pass({ request, response, target, isUpgrade, client, openWait, requestId }).catch((error: unknown) =>
      this.#send(request, response, this.#responder.failure(error, '', headers)),
    );
  }

  #send(request: IncomingMessage, response: ServerResponse, message: ResponseMessage): void {
    if (response.headersSent) response.destroy();
    if (response.destroyed) return;
    if (this.#connections.isDraining) response.shouldKeepAlive = false;
    sendMessage(request, response, message);
  }

  /** Handles bytes that Node's parser cannot read. Like Node, answers in place of a response that has not begun. */
  #onUnparsed(error: ParseError, socket: ParsedSocket): void {
    const hasBegun = socket._httpMessage?.headersSent === true;
    if (hasBegun || !socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else {
      const origin = socket._httpMessage?.req.headers.origin ?? originIn(error.rawPacket);
      this.#sendRefusal(socket, unparsedCodeOf(error), origin);
    }
  }

  /** Answers on a connection whose next request cannot be found, and closes it. `origin`: if it is known. */
  #sendRefusal(socket: Socket, code: UnparsedCode, origin?: string): void {
    this.#dependencies.report({ name: 'refused', code });
    const message = this.#responder.failure(unparsed(code), '', {});
    const headers = this.#origins.headersFor(origin, message.headers);
    socket.write(`${messageHead({ ...message, headers })}${CLOSE_END}${message.body}`, 'latin1');
    socket.destroy();
  }

  #sendFailure(request: IncomingMessage, response: ServerResponse, vary: string, error: ProxyError): void {
    this.#dependencies.report({ name: 'refused', code: error.code });
    this.#send(request, response, this.#responder.failure(error, vary, request.headers));
  }
}

function methodNotAllowed(): ProxyError {
  return failure('method-not-allowed', { values: { methods: ALLOWED_METHODS }, allow: ALLOWED_METHODS });
}

/**
 * Serves a request when the earlier ones on its connection are answered: Node gives the socket to its response then.
 */
function onceFirst(response: ServerResponse, serve: () => void): void {
  if (response.socket === null) response.once('socket', serve);
  else serve();
}
