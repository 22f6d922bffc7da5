import type { Socket } from 'node:net';
import type { MemoryHits } from '../../answer/handle-request.ts';
import type { MonotonicMs, Ms } from '../../time-units.ts';
import type { ClientConnection } from './client-connections.ts';
import { partsOf } from './cut-at-heads.ts';
import { FastLaneConnection, type FastLaneConnectionDependencies } from './fast-lane-connection.ts';
import { RenderedHits, type RenderedHitsDependencies } from './rendered-hits.ts';

export interface FastLaneDependencies extends Omit<FastLaneConnectionDependencies, 'hits' | 'leaveToNode'> {
  readonly hits: MemoryHits;
  readonly gzip: RenderedHitsDependencies['gzip'];
  /** The HTTP server's own listener for connections. */
  readonly listener: (socket: Socket) => void;
  /** How long a client may take to send its first byte. */
  readonly headerTimeoutMs: Ms;
}

const LOOK_EVERY_MS = 1000;

/** Node's HTTP server keeps an idle connection this much longer than `Keep-Alive` says, for requests that are on their way. */
const KEEP_ALIVE_BUFFER_MS = 1000;

/**
 * Answers plain requests for the operations from the socket itself, because by Node's HTTP server a hit takes 2.4 to 3.5
 * times the CPU time. Each connection of the public port begins here. When bytes come that this does not understand completely, the
 * connection goes to the HTTP server for good, with all bytes that are not answered yet.
 */
export class FastLane {
  readonly #dependencies: FastLaneDependencies;
  /** What each connection gets. */
  readonly #perConnection: FastLaneConnectionDependencies;
  /** With the bytes that had left at the last look that saw more of them, and its instant, or when the connection began. */
  readonly #open = new Map<FastLaneConnection, { readonly leftBytes: number; readonly at: MonotonicMs }>();
  readonly #timer: NodeJS.Timeout;

  constructor(dependencies: FastLaneDependencies) {
    this.#dependencies = dependencies;
    const { hits, gzip, keepAliveMs } = dependencies;
    this.#perConnection = {
      ...dependencies,
      hits: new RenderedHits({ hits, gzip, keepAliveMs }),
      leaveToNode: (lane, unread) => this.#leaveToNode(lane, unread),
    };
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Takes a new connection. */
  take(connection: ClientConnection): void {
    const lane = new FastLaneConnection(connection, this.#perConnection);
    this.#open.set(lane, { leftBytes: 0, at: performance.now() });
    connection.socket.once('close', () => this.#open.delete(lane));
  }

  /** Closes idle connections. The others close after the answers under way, or are left to Node if there are none. */
  drain(): void {
    for (const lane of this.#open.keys()) {
      if (lane.isIdle) lane.connection.socket.destroy();
      else lane.leave();
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #leaveToNode(lane: FastLaneConnection, unread: Buffer): void {
    const { connections, listener } = this.#dependencies;
    const { connection } = lane;
    const { socket } = connection;
    this.#open.delete(lane);
    socket.pause();
    listener(socket);
    connections.leaveToNode(connection);
    for (const part of partsOf(unread).reverse()) socket.unshift(part);
    socket.resume();
  }

  /**
   * Enforces the timeouts of idle connections. One that waits for the end of a head is left to Node, which enforces its
   * own.
   */
  #look(): void {
    const { headerTimeoutMs, keepAliveMs } = this.#dependencies;
    const now = performance.now();
    for (const [lane, seen] of this.#open) {
      const { socket } = lane.connection;
      const idleMs = now - seen.at;
      const leftBytes = socket.bytesWritten - socket.writableLength;
      if (leftBytes > seen.leftBytes) this.#open.set(lane, { leftBytes, at: now });
      else if (lane.hasPartOfHead) lane.leave();
      else if (!lane.isIdle) continue;
      else if (socket.bytesRead > 0) {
        if (idleMs > keepAliveMs + KEEP_ALIVE_BUFFER_MS) socket.destroy();
      } else if (idleMs > headerTimeoutMs) this.#dependencies.refuse(socket, 'request-timeout');
    }
  }
}
