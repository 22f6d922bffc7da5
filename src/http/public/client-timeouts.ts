import type { ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Ms } from '../../time-units.ts';
import type { FastLaneConnection } from '../fast/fast-lane-connection.ts';
import type { ClientConnection } from './client-connections.ts';

// The timeouts that cut a client, in addition to the end of a drain:
//
// | A client that | read by | is cut after | with | by |
// | --- | --- | --- | --- | --- |
// | sends nothing, or a part of a request | Node | `http.requestTimeout` | 408 | `headersTimeout`, `requestTimeout` |
// | is idle after an answer | Node | `http.keepAliveTimeout` and 1 s | a close | `keepAliveTimeout` |
// | sends nothing | the fast lane | `http.requestTimeout` | 408 | a look |
// | sends a part of a head | the fast lane | is left to Node, which counts from then on | | a look |
// | is idle after an answer | the fast lane | `http.keepAliveTimeout` and 1 s | a close | a look |
// | takes its answer slowly, or not at all | either | `http.sendTimeout` for each 16 KiB: `AnswerProgress` | a reset | a look |
// | gets a passed-through answer that pauses | Node | `UPSTREAM_TIMEOUT` | a close | `UpstreamClient.forward` |
// | takes nothing of its stream while bytes wait | Node, or nobody | 10 s | a reset | `http/streaming` |
// | has a WebSocket, sends nothing, and its place is needed | nobody | 60 s | a close | `http/streaming` |
// | has another stream, which brings nothing | Node | 60 s | a close | `http/streaming` |
//
// A look comes once a second, or four times in `http.sendTimeout` if that is more often; Node's come once a second.
// Looks are counted instead of time: a process that was stopped cuts nobody when it continues. A request that waits for
// its answer has its own deadline, and is answered. Node reads passed-through requests.

/** The part of a connection that a look needs, for both readers. */
interface LookedAt extends Pick<ClientConnection, 'progress'> {
  readonly socket: { resetAndDestroy(): unknown };
}

export interface ClientTimeoutSettings {
  readonly headerTimeoutMs: Ms;
  readonly keepAliveMs: Ms;
  /** A client that takes less than 16 KiB of its answer in this time is cut. */
  readonly slowReaderMs: Ms;
}

export interface ClientTimeoutsDependencies extends ClientTimeoutSettings {
  /** The open connections, and those among them that the fast lane reads; both are iterated at each look. */
  readonly connections: Iterable<LookedAt>;
  readonly lanes: Iterable<FastLaneConnection>;
  /** Answers in place of a request that has not arrived, and closes the connection. */
  readonly sendRefusal: (socket: Socket, code: 'request-timeout') => void;
}

const LOOK_EVERY_MS = 1000;

/** The minimum number of looks within the time of a slow reader. */
const LEAST_LOOKS = 4;

/** An idle connection is kept this much longer than its `Keep-Alive` states, for requests on their way. */
const KEEP_ALIVE_BUFFER_MS = 1000;

/** The timeouts of Node's HTTP server, for the connections that it reads. */
export function nodeTimeouts({ headerTimeoutMs, keepAliveMs }: ClientTimeoutSettings): ServerOptions {
  return {
    headersTimeout: headerTimeoutMs,
    requestTimeout: headerTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveTimeoutBuffer: KEEP_ALIVE_BUFFER_MS,
    connectionsCheckingInterval: LOOK_EVERY_MS,
  };
}

/** Looks at all open connections repeatedly, and cuts clients by the table above. */
export class ClientTimeouts {
  readonly #dependencies: ClientTimeoutsDependencies;
  readonly #timer: NodeJS.Timeout;
  /** The number of looks after which a client is cut. */
  readonly #looks: Readonly<Record<'withoutRequest' | 'idle' | 'slow', number>>;

  constructor(dependencies: ClientTimeoutsDependencies) {
    this.#dependencies = dependencies;
    const { headerTimeoutMs, keepAliveMs, slowReaderMs } = dependencies;
    const everyMs = Math.min(LOOK_EVERY_MS, slowReaderMs / LEAST_LOOKS);
    const looksIn = (ms: Ms) => Math.ceil(ms / everyMs);
    this.#looks = {
      withoutRequest: looksIn(headerTimeoutMs),
      idle: looksIn(keepAliveMs + KEEP_ALIVE_BUFFER_MS),
      slow: looksIn(slowReaderMs),
    };
    this.#timer = setInterval(() => this.#look(), everyMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { connections, lanes } = this.#dependencies;
    for (const { socket, progress } of connections) {
      progress.look();
      if (progress.isTooSlow(this.#looks.slow)) socket.resetAndDestroy();
    }
    for (const lane of lanes) this.#lookAtLane(lane);
  }

  #lookAtLane(lane: FastLaneConnection): void {
    const { socket, progress } = lane.connection;
    if (lane.hasPartOfHead) {
      // A client that pipelines is often in the middle of a head, and is better served here.
      const isServed = socket.bytesWritten > 0 && progress.quietLooks === 0;
      if (!isServed) lane.leave();
    } else if (!lane.isIdle) return;
    else if (socket.bytesRead > 0) {
      if (progress.quietLooks >= this.#looks.idle) socket.destroy();
    } else if (progress.quietLooks >= this.#looks.withoutRequest) {
      this.#dependencies.sendRefusal(socket, 'request-timeout');
    }
  }
}
