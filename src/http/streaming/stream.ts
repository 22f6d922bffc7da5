import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import type { Ms } from '../../time-units.ts';
import { AnswerProgress, LEAST_BYTES } from '../public/answer-progress.ts';
import { writeInSlices } from '../public/response-message.ts';

/**
 * Why a stream of a client ended. `slow`: its client was cut. `idle`: its server sent nothing, or, for a WebSocket, its
 * client sent nothing and another client needed the place.
 */
export type StreamEnd = 'client-closed-request' | 'upstream-ended' | 'idle' | 'slow' | 'shutting-down';

export type StreamSides =
  | { readonly kind: 'websocket'; readonly client: Socket; readonly upstream: Socket }
  /** Server-sent events, or an answer that ends by itself. `isComplete`: true if the answer ended regularly by HTTP. */
  | {
      readonly kind: 'sse' | 'answer';
      readonly client: ServerResponse;
      readonly upstream: Readable;
      readonly isComplete: () => boolean;
    };

export interface ClientStreamOptions {
  /** Called with each change in the number of bytes that wait for the client. */
  readonly onWaiting: (change: number) => void;
  /** Called once, when the client's side has closed. */
  readonly onEnd: (reason: StreamEnd) => void;
}

/** A client is cut if bytes wait and it takes less than 16 KiB, or than all of them, in this number of looks. */
const MOST_STUCK_LOOKS = 10;

/** An event stream is cut after this many looks without any bytes: its server writes a comment every 15 s. */
export const MOST_QUIET_LOOKS = 60;

/** When the system begins to probe the two connections of a silent WebSocket. */
const KEEP_ALIVE_PROBE_MS: Ms = 30_000;

/**
 * A stream of a client, from the head of its answer until the client's side has closed. The other side is always read,
 * and its bytes wait here: a Streaming API writes to its clients one after the other, and one connection that is not
 * read stops the events for all of them.
 */
export class ClientStream {
  readonly kind: StreamSides['kind'];
  /** The number of looks in a row without any bytes: for a WebSocket from the client, otherwise from the other side. */
  quietLooks = 0;
  /** Bytes of the other side that have not left this process. */
  waitingBytes = 0;
  readonly #sides: StreamSides;
  readonly #options: ClientStreamOptions;
  /** The client's connection. */
  readonly #socket: Socket;
  readonly #progress: AnswerProgress;
  /** Hands bytes to the client one slice after the other, so that its progress is visible. */
  readonly #outbox: Writable;
  /** The first reason counts. */
  #reason: StreamEnd | undefined;

  /** The client's side is open. */
  constructor(sides: StreamSides, options: ClientStreamOptions) {
    this.kind = sides.kind;
    this.#sides = sides;
    this.#options = options;
    const { client, upstream } = sides;
    this.#socket = sides.kind === 'websocket' ? sides.client : sides.client.req.socket;
    this.#progress = new AnswerProgress(this.#socket);
    this.#outbox = new Writable({
      write: (bytes: Buffer, _, done) => writeInSlices(client, bytes, (last) => client.write(last, done), LEAST_BYTES),
      final: (done) => {
        this.#endClient();
        done();
      },
    });
    // A `close` follows each error.
    for (const side of [client, upstream, this.#outbox]) side.on('error', () => {});
    client.once('close', () => {
      this.#drop();
      upstream.destroy();
      options.onEnd(this.#reason ?? 'client-closed-request');
    });
    upstream.once('close', () => {
      this.#reason ??= 'upstream-ended';
      this.#outbox.end();
    });
    upstream.on('data', (bytes: Buffer) => this.#pass(bytes));
    if (sides.kind !== 'websocket') return;
    for (const side of [sides.client, sides.upstream]) side.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
    sides.client.on('data', () => {
      this.quietLooks = 0;
    });
    // In this direction a slow side delays the other.
    sides.client.pipe(sides.upstream);
  }

  /** Call once a second. Cuts a client that does not read, and an event stream whose server sends nothing. */
  look(): void {
    this.quietLooks++;
    this.#progress.look();
    if (this.#progress.stuckLooks >= MOST_STUCK_LOOKS) this.end('slow');
    // A client that still takes the bytes of a stream that has ended is not idle.
    else if (this.kind !== 'websocket' && this.waitingBytes === 0 && this.quietLooks > MOST_QUIET_LOOKS)
      this.end('idle');
  }

  /** Ends it. At a shutdown, bytes that wait for the client still leave; `idle` and `slow` discard them. */
  end(reason: StreamEnd): void {
    this.#reason ??= reason;
    if (reason === 'shutting-down') {
      this.#outbox.end();
      return;
    }
    this.#drop();
    if (reason === 'slow') this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  #pass(bytes: Buffer): void {
    if (this.kind !== 'websocket') this.quietLooks = 0;
    if (!this.#sides.client.writable || !this.#outbox.writable) return;
    this.#outbox.write(bytes, () => {
      if (!this.#outbox.destroyed) this.#count(-bytes.length);
    });
    this.#count(bytes.length);
  }

  #drop(): void {
    this.#outbox.destroy();
    this.#count(-this.waitingBytes);
  }

  #count(change: number): void {
    this.waitingBytes += change;
    this.#options.onWaiting(change);
  }

  /** All bytes have left. */
  #endClient(): void {
    const sides = this.#sides;
    if (sides.kind !== 'websocket' && sides.isComplete()) sides.client.end();
    else this.#socket.destroySoon();
  }
}
