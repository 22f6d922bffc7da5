import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MemoryHits } from '../../answer/get.ts';
import { requestIdOf } from '../../answer/request-trace.ts';
import type { Gzip } from '../../cache/gzip.ts';
import { failure, type ProxyError } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { type Operation, OperationsInUse } from '../../ton/operations.ts';
import type { BodyReader } from '../body-reader.ts';
import { FastLane } from '../fast/fast-lane.ts';
import { RenderedHits } from '../fast/rendered-hits.ts';
import { HEALTH } from '../health.ts';
import { isBelow, mayHoldForm, parseTarget, type Target } from '../parse-request.ts';
import { asksForWebSocket, type PassedRequest, type PassThrough } from '../pass-through/pass-on.ts';
import { STREAM_PATHS } from '../streaming/streaming.ts';
import { ClientConnections } from './client-connections.ts';
import { type ClientTimeoutSettings, ClientTimeouts, nodeTimeouts } from './client-timeouts.ts';
import { Drain } from './drain.ts';
import { MOST_FIELDS, originIn, refusedFraming, type UnparsedCode, unparsed, unparsedCodeOf } from './framing.ts';
import { Origins } from './origins.ts';
import { Responder, type ResponderDependencies } from './responder.ts';
import { ALLOWED_METHODS, ResponseHeaders } from './response-headers.ts';
import { CLOSE_END, messageHead, type ResponseMessage, sendMessage } from './response-message.ts';
import { notServedAt, type ServedPaths, servedAt } from './served-paths.ts';

export interface PublicServerDependencies
  extends Omit<ResponderDependencies, 'connections' | 'responseHeaders'>,
    ClientTimeoutSettings,
    ServedPaths {
  /** The hits that the fast lane may answer by itself; without them there is no fast lane. */
  readonly hits?: MemoryHits | undefined;
  readonly gzip: Pick<Gzip, 'bodyFor' | 'move'>;
  /** Reads the bodies of operations that have one. */
  readonly bodies: Pick<BodyReader, 'read'>;
  readonly maxHeaderBytes: number;
  /** Default: any. */
  readonly origins?: Origins | undefined;
  /** The maximum number of open client connections. */
  readonly maxConnections: number;
}

/** `_httpMessage`: the response being sent; Node's own listener for `clientError` reads it too. */
type ParsedSocket = Socket & { readonly _httpMessage?: ServerResponse };

/** An error of Node's parser, with the bytes that it could not read. */
type ParseError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** Methods of an operation with a body. */
const POSTED_METHODS = 'POST, OPTIONS';

/** The public port: the operations over HTTP, the rest of the API, health paths, and a drain that loses no answer. */
export class PublicServer {
  readonly #dependencies: PublicServerDependencies;
  readonly server: Server;
  readonly #connections: ClientConnections;
  readonly #responder: Responder;
  readonly #fastLane: FastLane | undefined;
  readonly #timeouts: ClientTimeouts;
  readonly #origins: Origins;
  readonly #headers: ResponseHeaders;
  readonly #drain: Drain;

  constructor(dependencies: PublicServerDependencies) {
    this.#dependencies = dependencies;
    const connections = new ClientConnections();
    this.#connections = connections;
    this.#origins = dependencies.origins ?? new Origins();
    this.#headers = new ResponseHeaders(this.#origins);
    this.#responder = new Responder({ ...dependencies, connections, responseHeaders: this.#headers });
    const drain = new Drain(connections);
    this.#drain = drain;
    this.server = createServer(
      {
        ServerResponse: class<R extends IncomingMessage> extends ServerResponse<R> {
          constructor(...given: ConstructorParameters<typeof ServerResponse<R>>) {
            super(...given);
            connections.onResponse(given[0].socket, this);
          }

          /** Headers are in the flat form. */
          override writeHead(status: number, headers?: unknown): this {
            if (drain.isUnderWay) this.shouldKeepAlive = false;
            return super.writeHead(status, headers as string[]);
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
        this.#sendFailure(request, response, failure('unsupported-expectation'));
      });
    });
    this.server.maxConnections = dependencies.maxConnections;
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
    const { hits, gzip, keepAliveMs, requestLimit, passThrough, operations } = this.#dependencies;
    if (hits === undefined) {
      this.server.on('connection', (socket) => connections.leaveToNode(connections.open(socket)));
      return undefined;
    }
    const listeners = this.server.listeners('connection');
    this.server.removeAllListeners('connection');
    const lane = new FastLane({
      ...this.#dependencies,
      hits: new RenderedHits({ hits, gzip, keepAliveMs, responseHeaders: this.#headers }),
      origins: this.#origins,
      drain: this.#drain,
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

  /** Ends it by a {@link Drain}: `delayMs` and `limitMs` are described there. */
  async drain(limitMs: Ms, delayMs: Ms = 0): Promise<void> {
    const streams = this.#dependencies.streaming?.streams;
    await this.#drain.run({ server: this.server, lanes: this.#fastLane?.lanes ?? [], streams }, limitMs, delayMs);
    this.#timeouts.close();
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
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    this.#serve(request, response, true);
  }

  #serve(request: IncomingMessage, response: ServerResponse, isUpgrade = false): void {
    const refused = refusedFraming(request);
    if (refused !== undefined) {
      // Nobody can tell where its body ends and the next request begins, so no later request is served.
      response.shouldKeepAlive = false;
      this.#sendFailure(request, response, refused);
      return;
    }
    const { method, headers } = request;
    const target = parseTarget(request.url ?? '');
    const isCacheable = method === 'GET' || method === 'HEAD';
    const health = HEALTH.get(target.path);
    // Does not count as a client's request. HAProxy's `option httpchk /readyz` uses OPTIONS.
    if (health !== undefined && (isCacheable || method === 'OPTIONS')) {
      const { status, body } = health(!this.#drain.isUnderWay);
      this.#send(request, response, this.#headers.health(status, body, headers));
      return;
    }
    // A preflight does not count: browsers hide its status.
    const refusal = method === 'OPTIONS' ? undefined : this.#responder.refusal(request.socket, headers);
    if (refusal !== undefined) {
      this.#send(request, response, refusal);
      return;
    }
    const { operation, pass: passThrough } = servedAt(target, this.#dependencies);
    const isPosted = operation?.body !== undefined;
    const isAsked = isPosted ? method === 'POST' : isCacheable;
    const isRefused = this.#origins.refuses(headers);
    const refuse = () => this.#sendFailure(request, response, failure('origin-not-allowed'), operation);
    const pass =
      passThrough &&
      ((body?: Buffer) => this.#passThrough(request, response, { target, isUpgrade, body }, passThrough));
    // The rules of browsers do not cover WebSockets, and a page may send a simple POST without asking.
    const passOn = pass && isRefused ? refuse : pass;
    if (operation === undefined && passOn === undefined) {
      const isHealth = HEALTH.has(target.path);
      const refused = isHealth ? methodNotAllowed() : notServedAt(target, this.#dependencies);
      const { explained: why } = refused.details;
      if (why !== undefined) this.#dependencies.report({ name: 'path-not-served', path: target.path, why });
      this.#sendFailure(request, response, refused);
    } else if ((method === 'OPTIONS' || (method === 'POST' && isPosted)) && isRefused) {
      refuse();
    } else if (method === 'OPTIONS') {
      this.#send(request, response, this.#headers.preflight(isPosted || passOn !== undefined, headers));
    } else if (passOn !== undefined && (operation === undefined || !isAsked)) {
      this.#dependencies.onRequest(request.socket, headers);
      passOn();
    } else if (operation === undefined || !isAsked) {
      this.#sendFailure(request, response, methodNotAllowed(isPosted), operation);
    } else {
      const { rawQuery } = target;
      const send = (message: ResponseMessage) => this.#send(request, response, message);
      const answer = (body?: Buffer) => {
        const passWhole = passOn && (() => passOn(body));
        this.#responder.answer({ operation, rawQuery, headers, body }, request.socket, send, passWhole);
      };
      if (!isPosted || !mayHoldForm(headers)) answer();
      else
        this.#dependencies.bodies
          .read(request)
          .then(answer)
          .catch((error: unknown) => this.#send(request, response, this.#responder.failure(error, headers, operation)));
    }
  }

  #passThrough(
    request: IncomingMessage,
    response: ServerResponse,
    asked: { readonly target: Target; readonly isUpgrade: boolean; readonly body: Buffer | undefined },
    pass: PassThrough,
  ): void {
    const { isUpgrade, body } = asked;
    const { originForm: target } = asked.target;
    const { headers, socket } = request;
    const openWait = () => this.#responder.openWait(socket, headers);
    const client = this.#dependencies.clientOf(socket, headers);
    const requestId = requestIdOf(headers);
    const context = { request: headers, requestId };
    const headersOf: PassedRequest['headersOf'] = (answer, status) => this.#headers.passed(answer, context, status);
    pass({ request, response, target, isUpgrade, body, client, openWait, requestId, headersOf }).catch(
      (error: unknown) => this.#send(request, response, this.#responder.failure(error, headers)),
    );
  }

  #send(request: IncomingMessage, response: ServerResponse, message: ResponseMessage): void {
    if (response.headersSent) response.destroy();
    if (response.destroyed) return;
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
    const message = this.#responder.failure(unparsed(code), { origin });
    socket.write(`${messageHead(message)}${CLOSE_END}${message.body}`, 'latin1');
    socket.destroy();
  }

  #sendFailure(request: IncomingMessage, response: ServerResponse, error: ProxyError, operation?: Operation): void {
    this.#dependencies.report({ name: 'refused', code: error.code });
    this.#send(request, response, this.#responder.failure(error, request.headers, operation));
  }
}

function methodNotAllowed(isPosted = false): ProxyError {
  const methods = isPosted ? POSTED_METHODS : ALLOWED_METHODS;
  return failure('method-not-allowed', { values: { methods }, allow: methods });
}

/**
 * Serves a request when the earlier ones on its connection are answered: Node gives the socket to its response then.
 */
function onceFirst(response: ServerResponse, serve: () => void): void {
  if (response.socket === null) response.once('socket', serve);
  else serve();
}
