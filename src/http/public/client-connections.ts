import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Wait } from '../../answer/wait.ts';
import { failure, type ProxyError } from '../../errors.ts';
import { cutAtHeads } from '../fast/cut-at-heads.ts';
import { AnswerProgress } from './answer-progress.ts';

/** The maximum bytes of unread requests over all paused connections. A connection that exceeds it is closed. */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024;

/** The state of an open connection. */
export interface ClientConnection {
  readonly socket: Socket;
  /** For {@link ClientTimeouts}. */
  readonly progress: AnswerProgress;
  /** True if Node's HTTP parser reads it; before that, the fast lane does. */
  isParsedByNode: boolean;
  /** Requests whose answers have not left the process. */
  unanswered: number;
  /** True while it is paused until fewer of its requests are unanswered. */
  isPaused: boolean;
  /** Received bytes that wait while it is paused. */
  unreadBytes: number;
  /** The wait of the present request, or of an earlier one, which has ended. */
  wait: Wait | undefined;
  readonly onFinish: () => void;
}

/**
 * The open connections of clients. The requests of a connection are served one at a time: pipelined requests stay bytes
 * until the earlier ones are answered. The fast lane reads nothing beyond the present request. Node's parser reads one
 * more, because the body of a request must be read during the request, and the next head may arrive with it.
 */
export class ClientConnections {
  readonly #open = new Map<Socket, ClientConnection>();
  /** The connections that are open at the time of the iteration. */
  readonly all: Iterable<ClientConnection> = { [Symbol.iterator]: () => this.#open.values() };
  #unanswered = 0;
  #unreadBytes = 0;

  get count(): number {
    return this.#open.size;
  }

  /** Requests whose answers have not left the process. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Called when a connection has closed. */
  onClosed: () => void = () => {};

  /** Adds a new connection. */
  open(socket: Socket): ClientConnection {
    const connection: ClientConnection = {
      socket,
      progress: new AnswerProgress(socket),
      isParsedByNode: false,
      unanswered: 0,
      isPaused: false,
      unreadBytes: 0,
      wait: undefined,
      onFinish: () => this.end(connection),
    };
    this.#open.set(socket, connection);
    cutAtHeads(socket, {
      // The fast lane finds the heads by itself. Data that arrives while it is paused may go to Node's parser, and so
      // is cut.
      isCut: () => connection.isParsedByNode || connection.isPaused,
      onUnread: (bytes) => this.#countUnread(connection, socket.readableLength + bytes),
    });
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /**
   * From now on pauses a connection between two requests when necessary. Call it after the HTTP server's own listener:
   * the parser must see each part before the pause.
   */
  leaveToNode(connection: ClientConnection): void {
    const { socket } = connection;
    connection.isParsedByNode = true;
    connection.isPaused = false;
    this.#countUnread(connection, 0);
    const pauseIfBusy = () => {
      if (connection.unreadBytes > 0) this.#countUnread(connection, socket.readableLength);
      if (connection.isPaused || !mayBeRead(connection)) this.pause(connection);
    };
    // Without a listener for `data` Node's parser would read from the connection's handle and bypass `push`.
    socket.on('data', pauseIfBusy);
    // Node's HTTP server resumes the connection after each message, even if it is paused.
    socket.on('resume', pauseIfBusy);
  }

  isAnswered(socket: Socket): boolean {
    return this.#open.get(socket)?.unanswered === 0;
  }

  /** Counts a request without an immediate answer, until {@link end}. */
  begin(connection: ClientConnection): void {
    connection.unanswered++;
    this.#unanswered++;
  }

  /** The answer to a counted request has left the process. Reads on if the connection was paused. */
  end(connection: ClientConnection): void {
    if (connection.unanswered === 0) return;
    connection.unanswered--;
    this.#unanswered--;
    if (connection.isPaused && mayBeRead(connection)) setImmediate(this.#release, connection);
  }

  /**
   * Stops reading until the present request is answered, or, without one, until other connections were served. `unread`
   * goes back into the socket.
   */
  pause(connection: ClientConnection, unread?: Buffer): void {
    const { socket } = connection;
    connection.isPaused = true;
    socket.pause();
    if (unread !== undefined) socket.unshift(unread);
    this.#countUnread(connection, socket.readableLength);
    if (mayBeRead(connection)) setImmediate(this.#release, connection);
  }

  /** Counts a request to Node's HTTP server, from the creation of its response until it has left the process. */
  onResponse(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.begin(connection);
    response.on('finish', connection.onFinish);
  }

  /** Ends a wait when its client leaves (immediately if it has already left), or by {@link endWaits}. */
  endWithClient(wait: Wait, socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) wait.end(clientLeft());
    else connection.wait = wait;
  }

  /** Ends all waits with a 503. */
  endWaits(): void {
    const reason = failure('shutting-down');
    for (const { wait } of this.#open.values()) wait?.end(reason);
  }

  /**
   * Runs in its own tick of the event loop. A hit is answered immediately, so otherwise all requests of a read would be
   * answered in one tick, while all other connections wait.
   */
  readonly #release = (connection: ClientConnection): void => {
    const { socket } = connection;
    if (!connection.isPaused || !mayBeRead(connection)) return;
    connection.isPaused = false;
    this.#countUnread(connection, 0);
    if (!isPausedByNode(socket)) socket.resume();
  };

  #countUnread(connection: ClientConnection, bytes: number): void {
    const growth = bytes - connection.unreadBytes;
    if (this.#unreadBytes + growth > MOST_UNREAD_BYTES && growth > 0) {
      connection.socket.destroy();
      return;
    }
    this.#unreadBytes += growth;
    connection.unreadBytes = bytes;
  }

  #remove(connection: ClientConnection): void {
    this.#open.delete(connection.socket);
    this.#unanswered -= connection.unanswered;
    connection.unanswered = 0;
    this.#countUnread(connection, 0);
    connection.wait?.end(clientLeft());
    this.onClosed();
  }
}

function clientLeft(): ProxyError {
  return failure('client-closed-request');
}

function mayBeRead({ unanswered, isParsedByNode }: ClientConnection): boolean {
  return unanswered <= (isParsedByNode ? 1 : 0);
}

/**
 * True if Node's HTTP server has paused a connection because its client does not read its answers. The server resumes
 * it by itself, and fails an assertion if data comes before (lib/_http_server.js, `socketOnData`).
 */
function isPausedByNode(socket: Socket & { readonly _paused?: boolean }): boolean {
  return socket._paused === true;
}
