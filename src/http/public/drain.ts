import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ms } from '../../time-units.ts';
import type { ClientStreaming } from '../streaming/streaming.ts';
import type { ClientConnection, ClientConnections } from './client-connections.ts';

/** The time in which clients that send one request after the other must send their last one. */
const LAST_REQUEST_MS = 250;

/**
 * The time for the first request of a connection that was accepted last. A packet that is lost three times takes 1.4 s:
 * Linux sends it again after 200, 400 and 800 ms (RFC 6298, section 5.5).
 */
const FIRST_REQUEST_MS = 2000;

/** The time in which the 503s at the end of a drain must leave the process. */
const LAST_WORDS_MS = 500;

/** The parts of the public port that end with a drain; `lanes`: the connections that the fast lane reads. */
interface DrainedParts {
  readonly server: Server;
  readonly lanes: Iterable<{ readonly connection: ClientConnection; readonly isIdle: boolean; leave(): void }>;
  readonly streams: ClientStreaming['streams'] | undefined;
}

/** The end of the public port, which loses no answer. */
export class Drain {
  /** From then on an answer of Node's HTTP server is the last one of its connection. */
  isUnderWay = false;
  readonly #connections: ClientConnections;

  constructor(connections: ClientConnections) {
    this.#connections = connections;
  }

  /** True if a connection of the fast lane ends with its present answer: no request waits behind it. */
  isLastOf({ isPaused }: ClientConnection): boolean {
    return this.isUnderWay && !isPaused;
  }

  /**
   * From now on each answer has `Connection: close`, except one of the fast lane with requests waiting behind it. New
   * connections are still accepted for `delayMs`, and at least for a moment if there are clients. Then idle connections
   * are closed, those without a first request a moment later, and this resolves when all have ended. Requests that
   * still wait after `limitMs` more get 503, and their connections are cut soon after.
   */
  async run({ server, lanes, streams }: DrainedParts, limitMs: Ms, delayMs: Ms): Promise<void> {
    const connections = this.#connections;
    this.isUnderWay = true;
    await sleep(connections.count > 0 ? Math.max(delayMs, LAST_REQUEST_MS) : delayMs);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const giveUp = setTimeout(() => {
      connections.endWaits();
      streams?.close();
    }, limitMs);
    const cut = setTimeout(() => {
      for (const { socket } of connections.all) socket.destroy();
    }, limitMs + LAST_WORDS_MS);
    // The first request of a connection that was accepted last may be on its way.
    if (this.#unused().length > 0) await Promise.race([closed, sleep(FIRST_REQUEST_MS)]);
    // Node ends connections that are idle after an answer. A connection without a first request counts as busy.
    for (const socket of this.#unused()) socket.destroy();
    for (const lane of lanes) {
      if (lane.isIdle) lane.connection.socket.destroy();
      else lane.leave();
    }
    /** Ends the streams of clients when no other connection is open. */
    const endStreams = () => {
      if (streams !== undefined && connections.count <= streams.lasting) streams.close();
    };
    // A stream learns after this that its connection has closed.
    connections.onClosed = () => void setImmediate(endStreams);
    endStreams();
    await closed;
    clearTimeout(giveUp);
    clearTimeout(cut);
  }

  /** The connections that have received no bytes. */
  #unused(): Socket[] {
    return [...this.#connections.all].flatMap(({ socket }) => (socket.bytesRead === 0 ? socket : []));
  }
}
