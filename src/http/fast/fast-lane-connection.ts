import type { Socket } from 'node:net';
import { unsliced } from '../../sliced-strings.ts';
import type { Ms } from '../../time-units.ts';
import type { OperationsInUse } from '../../ton/operations.ts';
import type { ClientConnection, ClientConnections } from '../public/client-connections.ts';
import type { Drain } from '../public/drain.ts';
import type { Origins } from '../public/origins.ts';
import type { Responder, ResponderDependencies } from '../public/responder.ts';
import {
  CLOSE_END,
  keepAliveEnd,
  messageHead,
  type ResponseMessage,
  writeInSlices,
} from '../public/response-message.ts';
import type { RenderedHit, RenderedHits } from './rendered-hits.ts';
import {
  ownedHeaders,
  type RequestFields,
  type RequestHead,
  readFields,
  readHead,
  readSpelling,
} from './request-head.ts';

/** The maximum number of requests of a connection in a row before other connections are served. */
const MOST_AT_ONCE = 16;

/** The common dependencies of all connections in the fast lane. */
export interface FastLaneConnectionDependencies {
  readonly responder: Responder;
  readonly hits: RenderedHits;
  /** The operations for which it answers more than hits in memory. */
  readonly operations: OperationsInUse;
  readonly connections: ClientConnections;
  readonly drain: Drain;
  /** Answers in place of an unreadable request, and closes the connection. */
  readonly sendRefusal: (socket: Socket, code: 'bad-request') => void;
  /** Hands the connection over to Node's HTTP server, with the bytes that were read and not served. */
  readonly leaveToNode: (lane: FastLaneConnection, unread: Buffer) => void;
  /** If origins are listed, Node's HTTP server answers each request with an `Origin`. */
  readonly origins: Origins;
  readonly maxHeaderBytes: number;
  readonly keepAliveMs: Ms;
  /** True if there is a limit of requests per client: only then a hit must know its client. */
  readonly hasLimits: boolean;
  /** Called for each request that is not above its client's limit. */
  readonly onRequest: ResponderDependencies['onRequest'];
}

/** Field sections longer than this, in characters, are parsed again for each request. */
const MOST_REMEMBERED = 1024;

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Up to this length a body is copied behind its head: with one write a miss of 2 KB costs 6 % less CPU time (measured).
 */
const LARGEST_JOINED_BYTES = 8 * 1024;

/**
 * A connection in the fast lane. Its requests are read from the socket and answered one at a time, until one comes that
 * only Node's HTTP server understands. From then on Node serves the connection.
 */
export class FastLaneConnection {
  readonly connection: ClientConnection;
  readonly #dependencies: FastLaneConnectionDependencies;
  /** The beginning of an incomplete head. */
  #part = NO_BYTES;
  #servedInARow = 0;
  #isLeaving = false;
  #isLast = false;
  /** The fields of the last request, which usually equal those of the next one. */
  #lastText = '';
  #lastFields: RequestFields | undefined;

  constructor(connection: ClientConnection, dependencies: FastLaneConnectionDependencies) {
    this.connection = connection;
    this.#dependencies = dependencies;
    const { socket } = connection;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    // `close` follows, which removes the connection.
    socket.on('error', onError);
  }

  /** True if every request was answered, and nothing of another one has arrived. */
  get isIdle(): boolean {
    const { unanswered, isPaused } = this.connection;
    return unanswered === 0 && !isPaused && !this.hasPartOfHead;
  }

  /** True while the end of a head is awaited. */
  get hasPartOfHead(): boolean {
    return this.#part.length > 0;
  }

  /** Leaves the connection to Node when the present request is answered. */
  leave(): void {
    this.#isLeaving = true;
    if (this.connection.unanswered === 0) this.#leaveToNode(this.#part);
  }

  readonly #onData = (chunk: Buffer): void => {
    const part = this.#part;
    if (part.length === 0) {
      this.#read(chunk, false);
      return;
    }
    this.#part = NO_BYTES;
    this.#read(Buffer.concat([part, chunk]), true);
  };

  /** `isSecondTry`: the bytes begin with a head that was incomplete. If it still is, it is left to Node. */
  #read(bytes: Buffer, isSecondTry: boolean): void {
    const { connection } = this;
    const text = bytes.toString('latin1');
    let start = 0;
    while (start < text.length) {
      if (connection.unanswered > 0 || this.#servedInARow === MOST_AT_ONCE) {
        this.#servedInARow = 0;
        this.#dependencies.connections.pause(connection, bytes.subarray(start));
        return;
      }
      const head = readHead(text, start, this.#dependencies.maxHeaderBytes);
      if (head === 'incomplete' && !(isSecondTry && start === 0)) {
        this.#part = bytes.subarray(start);
        return;
      }
      if (typeof head === 'string' || !this.#serve(head)) {
        this.#leaveToNode(bytes.subarray(start));
        return;
      }
      this.#servedInARow++;
      start = head.end;
    }
    if (connection.socket.readableLength === 0) this.#servedInARow = 0;
  }

  /** Answers a request, now or later; returns `false` for a request that the fast lane does not understand. */
  #serve({ spelling, fields: text }: RequestHead): boolean {
    const fields = text === this.#lastText ? this.#lastFields : this.#readFields(text);
    const { operations, hasLimits, origins, onRequest } = this.#dependencies;
    if (fields === undefined || (fields.hasOrigin && origins.areListed)) return false;
    if (hasLimits) {
      if (readSpelling(spelling, operations) === undefined) return false;
      if (this.#sendLimited(fields)) return true;
    }
    // The head of a hit keeps the connection open.
    if (fields.isPlain && !this.#dependencies.drain.isUnderWay) {
      const hit = this.#dependencies.hits.find(spelling, fields.acceptsGzip);
      if (hit !== undefined) {
        onRequest(this.connection.socket, fields.headers);
        this.#writeHit(hit);
        return true;
      }
    }
    // Copy the texts: those of a waiting request would keep the whole read in memory.
    const parsed = readSpelling(unsliced(spelling), operations);
    if (parsed === undefined) return false;
    const headers = text.length > MOST_REMEMBERED ? ownedHeaders(fields.headers) : fields.headers;
    const { responder, connections } = this.#dependencies;
    connections.begin(this.connection);
    responder.answer({ ...parsed, headers }, this.connection.socket, this.#send);
    return true;
  }

  /** Answers a request of a client above its limit; returns `false` below it. */
  #sendLimited({ headers }: RequestFields): boolean {
    const { connections, responder } = this.#dependencies;
    const refusal = responder.refusal(this.connection.socket, headers);
    if (refusal === undefined) return false;
    connections.begin(this.connection);
    this.#send(refusal);
    return true;
  }

  #readFields(text: string): RequestFields | undefined {
    if (text.length > MOST_REMEMBERED) return readFields(text);
    this.#lastText = unsliced(text);
    this.#lastFields = readFields(this.#lastText);
    return this.#lastFields;
  }

  #writeHit(hit: RenderedHit): void {
    const { socket } = this.connection;
    socket.write(hit.bytes);
    if (socket.writableLength === 0) return;
    hit.pendingWrites++;
    this.#dependencies.connections.begin(this.connection);
    // Called when all earlier bytes have left.
    socket.write(NO_BYTES, () => {
      hit.pendingWrites--;
      this.#onAnswered();
    });
  }

  /** Writes the answer to the present request; throws if it cannot be sent. */
  readonly #send = (message: ResponseMessage): void => {
    const { connection } = this;
    const { socket } = connection;
    const { drain, keepAliveMs } = this.#dependencies;
    this.#isLast = drain.isLastOf(connection);
    const head = messageHead(message) + (this.#isLast ? CLOSE_END : keepAliveEnd(keepAliveMs));
    if (!socket.writable) return;
    const { body = NO_BYTES } = message;
    if (body.length <= LARGEST_JOINED_BYTES) {
      socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]), this.#onAnswered);
    } else {
      socket.cork();
      socket.write(head, 'latin1');
      writeInSlices(socket, body, (slice) => socket.write(slice, this.#onAnswered));
      socket.uncork();
    }
  };

  readonly #onAnswered = (): void => {
    const { connections, drain } = this.#dependencies;
    connections.end(this.connection);
    if (this.#isLast || drain.isLastOf(this.connection)) this.connection.socket.destroySoon();
    else if (this.#isLeaving) this.#leaveToNode(NO_BYTES);
  };

  #leaveToNode(unread: Buffer): void {
    const { socket } = this.connection;
    if (!socket.writable) return;
    this.#part = NO_BYTES;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('error', onError);
    this.#dependencies.leaveToNode(this, unread);
  }

  /** The client has closed its side. An answer that is not ready by then is lost, as with Node's HTTP server. */
  readonly #onEnd = (): void => {
    const { socket } = this.connection;
    if (this.hasPartOfHead) this.#dependencies.sendRefusal(socket, 'bad-request');
    else socket.end();
  };
}

function onError(): void {}
