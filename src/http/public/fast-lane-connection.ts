import type { Socket } from 'node:net';
import { ownedText } from '../../owned-text.ts';
import type { ClientConnection } from './client-connections.ts';
import {
  ownedHeaders,
  type RequestFields,
  type RequestHead,
  readFields,
  readHead,
  readSpelling,
} from './fast-lane-head.ts';
import { FastLaneWriter, type FastLaneWriterDependencies, type FastLaneWriterOptions } from './fast-lane-writer.ts';
import type { HitsInBytes } from './hit-bytes.ts';
import type { OperationAnswers } from './operation-answers.ts';

/** The most requests of a connection that are served in a row before other connections get their turn. */
const MOST_AT_ONCE = 16;

/** What all connections of the fast lane share. */
export interface FastLaneConnectionDependencies extends FastLaneWriterDependencies {
  readonly answers: OperationAnswers;
  readonly hits: HitsInBytes;
  /** Answers in place of a request that cannot be read, and closes the connection. */
  readonly refuse: (socket: Socket, code: 'bad-request' | 'request-timeout') => void;
  /** Hands the connection over to Node's HTTP server, with the bytes that were read and not served. */
  readonly leaveToNode: (lane: FastLaneConnection, unread: Buffer) => void;
}

export interface FastLaneConnectionOptions extends FastLaneWriterOptions {
  readonly maxHeadBytes: number;
}

/** Field sections longer than this, in characters, are read again for each request. */
const MOST_REMEMBERED = 1024;

const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * A connection in the fast lane: its requests are read from the socket and answered in order, until one comes that only
 * Node's HTTP server understands. That one waits for the answers before it, and then the connection is Node's.
 */
export class FastLaneConnection {
  readonly connection: ClientConnection;
  readonly #dependencies: FastLaneConnectionDependencies;
  readonly #options: FastLaneConnectionOptions;
  readonly #writer: FastLaneWriter;
  /** Whether the client has sent a byte. */
  wasUsed = false;
  /** Bytes that are not served yet: an incomplete head, or requests that were set aside. */
  #unread = NO_BYTES;
  #isLeaving = false;
  #hasEnded = false;
  /** The fields of the last request, which are mostly those of the next one. */
  #lastText = '';
  #lastFields: RequestFields | undefined;

  constructor(
    connection: ClientConnection,
    dependencies: FastLaneConnectionDependencies,
    options: FastLaneConnectionOptions,
  ) {
    this.connection = connection;
    this.#dependencies = dependencies;
    this.#options = options;
    this.#writer = new FastLaneWriter(connection, dependencies, options, this.#onAnswered);
    const { socket } = connection;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    // `close` follows, which removes the connection.
    socket.on('error', onError);
    socket.on('timeout', onTimeout);
  }

  /** Whether every request that came was answered. */
  get isIdle(): boolean {
    return this.#writer.isIdle && this.#unread.length === 0;
  }

  /** Whether the end of a head is awaited. */
  get hasPartOfHead(): boolean {
    return this.#unread.length > 0 && !this.connection.isHeld;
  }

  /** When the last answer left, or the connection began, by `coarseNow`. */
  get idleSince(): number {
    return this.#writer.answeredAt;
  }

  /** Leaves the connection to Node once all requests that it has served are answered. */
  leave(): void {
    this.#isLeaving = true;
    this.#goOn();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.wasUsed = true;
    const unread = this.#unread;
    if (unread.length === 0) {
      this.#read(chunk, false);
      return;
    }
    this.#unread = NO_BYTES;
    this.#read(Buffer.concat([unread, chunk]), true);
  };

  /** `isSecondTry`: the bytes begin with a head that was incomplete. If it still is, it is left to Node. */
  #read(bytes: Buffer, isSecondTry: boolean): void {
    const { connections } = this.#dependencies;
    const { maxHeadBytes } = this.#options;
    const text = bytes.toString('latin1');
    let start = 0;
    for (let count = 0; start < text.length; count++) {
      if (count === MOST_AT_ONCE || this.#writer.isWriting || !connections.mayBeRead(this.connection)) {
        this.#setAside(bytes.subarray(start));
        if (count === MOST_AT_ONCE) setImmediate(this.#goOn);
        return;
      }
      const head = this.#isLeaving ? 'other' : readHead(text, start, maxHeadBytes);
      if (head === 'incomplete' && !(isSecondTry && start === 0)) {
        this.#unread = bytes.subarray(start);
        return;
      }
      if (typeof head === 'string' || !this.#serve(head)) {
        this.#isLeaving = true;
        this.#setAside(bytes.subarray(start));
        this.#goOn();
        return;
      }
      start = head.end;
    }
  }

  /** Answers a request, now or in its turn; `false` when it is not one for the fast lane. */
  #serve({ spelling, fields: text }: RequestHead): boolean {
    const fields = text === this.#lastText ? this.#lastFields : this.#readFields(text);
    if (fields === undefined) return false;
    if (fields.isPlain && this.#writer.isIdle) {
      const hit = this.#dependencies.hits.find(spelling, fields.accepted);
      if (hit !== undefined) {
        this.#writer.writeHit(hit);
        return true;
      }
    }
    // Copy the texts: those of a request that waits would keep all that was read with it in memory.
    const asked = readSpelling(ownedText(spelling));
    if (asked === undefined) return false;
    const headers = text.length > MOST_REMEMBERED ? ownedHeaders(fields.headers) : fields.headers;
    const send = this.#writer.inTurn();
    this.#dependencies.answers.answer({ ...asked, headers }, this.connection.socket, send);
    return true;
  }

  #readFields(text: string): RequestFields | undefined {
    if (text.length > MOST_REMEMBERED) return readFields(text);
    this.#lastText = ownedText(text);
    this.#lastFields = readFields(this.#lastText);
    return this.#lastFields;
  }

  #setAside(bytes: Buffer): void {
    const { connection } = this;
    connection.socket.pause();
    this.#unread = bytes;
    this.#dependencies.connections.setAside(connection, bytes.length);
  }

  readonly #onAnswered = (): void => {
    if (this.#isLeaving) this.#goOn();
    // In a later turn of the event loop, so that other connections are served first.
    else if (this.connection.isHeld) setImmediate(this.#goOn);
  };

  readonly #goOn = (): void => {
    const { connection } = this;
    const { socket } = connection;
    const { connections, leaveToNode } = this.#dependencies;
    if (!socket.writable || connection.isParsedByNode) return;
    if (this.#isLeaving) {
      if (!this.#writer.isIdle) return;
      this.#unlisten();
      leaveToNode(this, this.#unread);
    } else if (connection.isHeld && !this.#writer.isWriting && connections.mayBeRead(connection)) {
      const unread = this.#unread;
      this.#unread = NO_BYTES;
      connections.takeUp(connection);
      this.#read(unread, false);
      if (connection.isHeld || connection.isParsedByNode) return;
      if (this.#hasEnded) this.#end();
      else socket.resume();
    }
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    // If the connection is held, requests that were set aside are served first. Answers that are not there at the end
    // are lost, as they are with Node's HTTP server.
    if (!this.connection.isHeld || this.#isLeaving) this.#end();
  };

  #end(): void {
    const { socket } = this.connection;
    if (this.hasPartOfHead) {
      this.#dependencies.refuse(socket, 'bad-request');
    } else {
      this.#writer.stop();
      socket.end();
    }
  }

  #unlisten(): void {
    const { socket } = this.connection;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('error', onError);
    socket.off('timeout', onTimeout);
  }
}

function onError(): void {}

function onTimeout(this: Socket): void {
  this.destroy();
}
