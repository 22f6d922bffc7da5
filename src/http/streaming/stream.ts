import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';

/** Why a stream of a client ended. `idle` and `slow`: its client was cut. */
export type StreamEnd = 'client-closed-request' | 'upstream-ended' | 'idle' | 'slow' | 'shutting-down';

/** The two sides of a stream. */
export type StreamSides =
  | { readonly kind: 'websocket'; readonly client: Socket; readonly upstream: Duplex }
  /** Server-sent events, or an answer that ends by itself. `isComplete`: true if the answer ended regularly by HTTP. */
  | {
      readonly kind: 'sse' | 'answer';
      readonly client: ServerResponse;
      readonly upstream: Readable;
      readonly isComplete: () => boolean;
    };

/**
 * A client with more waiting bytes than this is cut. The other side is always read: a Streaming API writes to its
 * clients one after the other, and one connection that is not read stops the events for all of them.
 */
const MOST_WAITING_BYTES = 64 * 1024;

/** A stream of a client, from the head of its answer until the client's side has closed. */
export class ClientStream {
  readonly kind: StreamSides['kind'];
  /** The number of looks in a row without any bytes: for a WebSocket from the client, otherwise from the other side. */
  quietLooks = 0;
  readonly #sides: StreamSides;
  /** The first reason counts. */
  #reason: StreamEnd | undefined;

  /** The client's side is open. `onEnd` is called once, when it has closed. */
  constructor(sides: StreamSides, onEnd: (reason: StreamEnd) => void) {
    this.kind = sides.kind;
    this.#sides = sides;
    const { client, upstream } = sides;
    // A `close` follows each error.
    client.on('error', () => {});
    upstream.on('error', () => {});
    client.once('close', () => {
      upstream.destroy();
      onEnd(this.#reason ?? 'client-closed-request');
    });
    upstream.once('close', () => this.#upstreamEnded());
    upstream.on('data', (bytes: Buffer) => this.#pass(bytes));
    if (sides.kind !== 'websocket') return;
    sides.client.on('data', () => {
      this.quietLooks = 0;
    });
    // In this direction a slow side delays the other.
    sides.client.pipe(sides.upstream);
  }

  /** Ends it. At a shutdown, bytes that were written to the client still leave; `idle` and `slow` discard them. */
  end(reason: StreamEnd): void {
    this.#reason ??= reason;
    const { client, kind } = this.#sides;
    const socket = kind === 'websocket' ? client : client.socket;
    if (reason === 'shutting-down') socket?.destroySoon();
    else if (reason === 'slow') socket?.resetAndDestroy();
    else socket?.destroy();
  }

  #pass(bytes: Buffer): void {
    const { client, kind } = this.#sides;
    if (kind !== 'websocket') this.quietLooks = 0;
    if (!client.writable) return;
    client.write(bytes);
    // Data that is written to a response in one tick leaves at its end.
    process.nextTick(() => {
      if (client.writableLength > MOST_WAITING_BYTES) this.end('slow');
    });
  }

  #upstreamEnded(): void {
    this.#reason ??= 'upstream-ended';
    const sides = this.#sides;
    if (sides.kind === 'websocket') sides.client.destroySoon();
    else if (sides.isComplete()) sides.client.end();
    else sides.client.destroy();
  }
}
