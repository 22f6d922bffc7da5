import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ProxyError } from '../../errors.ts';
import type { Wait } from '../../proxy/open-waits.ts';
import { cutAtHeads } from './cut-at-heads.ts';

/** A connection is read no further while more of its requests are unanswered. HTTP/1.1 answers them in order anyway. */
const MOST_PIPELINED = 16;

/** The most bytes of unparsed requests, over all connections that are paused. A connection that exceeds it is closed. */
const MOST_HELD_BYTES = 16 * 1024 * 1024;

/** An answer is blocked while another one of its connection goes first. Beyond so many bytes, no request is read. */
const MOST_BLOCKED_BYTES_EACH = 64 * 1024;

/** The most bytes of blocked answers, over all connections: memory beside the cache. One that exceeds it is reset. */
const MOST_BLOCKED_BYTES = 64 * 1024 * 1024;

/** The state of an open connection. */
export interface ClientConnection {
  readonly socket: Socket;
  /** Whether Node's HTTP parser reads it: before that, the fast lane does. */
  isParsedByNode: boolean;
  /** Requests whose answers have not left the process. */
  unanswered: number;
  /** Whether it is paused until fewer of its requests are unanswered. */
  isHeld: boolean;
  heldBytes: number;
  /** Of these, the bytes that the fast lane has taken out of the socket and not looked at yet. */
  setAsideBytes: number;
  /** Bytes of answers that wait until those before them have left. */
  blockedBytes: number;
  readonly waits: Set<Wait>;
  readonly onFinish: () => void;
}

/**
 * The open connections of clients. Bounds what pipelined requests cost: Node parses all requests of a read at once, up
 * to 1000 of them, and keeps about 4 KB for each until it is answered. So a connection with many unanswered requests is
 * held: it is paused between two requests, and bytes that were already read stay unparsed. So is one with large answers
 * that wait for an earlier answer.
 */
export class ClientConnections {
  readonly #open = new Map<Socket, ClientConnection>();
  readonly #maxUnanswered: number;
  readonly #isMemoryFull: () => boolean;
  /** The sockets that are open when it is iterated. */
  readonly sockets: Iterable<Socket> = { [Symbol.iterator]: () => this.#open.keys() };
  #unanswered = 0;
  #heldBytes = 0;
  #blockedBytes = 0;

  /**
   * `maxUnanswered`: while so many requests are unanswered in all, or while memory is full, a connection is read no
   * further once two of its own are.
   */
  constructor(maxUnanswered: number, isMemoryFull: () => boolean) {
    this.#maxUnanswered = maxUnanswered;
    this.#isMemoryFull = isMemoryFull;
  }

  /** Requests whose answers have not left the process. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Adds a new connection. */
  open(socket: Socket): ClientConnection {
    const connection: ClientConnection = {
      socket,
      isParsedByNode: false,
      unanswered: 0,
      isHeld: false,
      heldBytes: 0,
      setAsideBytes: 0,
      blockedBytes: 0,
      waits: new Set(),
      onFinish: () => this.#onAnswered(connection),
    };
    this.#open.set(socket, connection);
    cutAtHeads(socket, {
      // The fast lane finds the heads by itself. What comes while it is held may go to Node's parser, and so is cut.
      isCut: () => connection.isParsedByNode || connection.isHeld,
      onHeld: (bytes) => this.#countHeld(connection, connection.setAsideBytes + socket.readableLength + bytes),
    });
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /**
   * Holds a connection between two requests whenever it has to, from now on. Call it after the HTTP server's own listener:
   * the parser must see each part before `#hold`.
   */
  leaveToNode(connection: ClientConnection): void {
    const { socket } = connection;
    connection.isParsedByNode = true;
    connection.isHeld = false;
    connection.setAsideBytes = 0;
    this.#countHeld(connection, 0);
    // Without a listener for `data` Node's parser would read from the connection's handle and bypass `push`.
    socket.on('data', () => this.#hold(connection));
    // Node's HTTP server resumes the connection after each message, held or not.
    socket.on('resume', () => this.#hold(connection));
  }

  /** Counts a request that the fast lane does not answer at once, until {@link end}. */
  begin(connection: ClientConnection): void {
    connection.unanswered++;
    this.#unanswered++;
  }

  /** The answer to a request that was begun has left the process. */
  end(connection: ClientConnection): void {
    if (connection.unanswered === 0) return;
    connection.unanswered--;
    this.#unanswered--;
  }

  /** The fast lane reads no further for now, and has set aside so many bytes that it did not look at. */
  setAside(connection: ClientConnection, bytes: number): void {
    connection.isHeld = true;
    connection.setAsideBytes = bytes;
    this.#countHeld(connection, bytes + connection.socket.readableLength);
  }

  /** The fast lane reads on. */
  takeUp(connection: ClientConnection): void {
    connection.isHeld = false;
    connection.setAsideBytes = 0;
    this.#countHeld(connection, 0);
  }

  /** Counts a request, from the creation of its response until that has left the process. */
  onResponse(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    this.begin(connection);
    response.on('finish', connection.onFinish);
  }

  /** Counts bytes of an answer that waits until those before it have left, until {@link unblock}. */
  block(connection: ClientConnection, bytes: number): void {
    const { socket } = connection;
    if (!this.#open.has(socket)) return;
    if (this.#blockedBytes + bytes > MOST_BLOCKED_BYTES) {
      socket.resetAndDestroy();
      return;
    }
    this.#countBlocked(connection, bytes);
  }

  /** The answer is the next one to leave. */
  unblock(connection: ClientConnection, bytes: number): void {
    if (this.#open.has(connection.socket)) this.#countBlocked(connection, -bytes);
  }

  /** The same for an answer that Node's HTTP server gets, which holds it while it is blocked. */
  onBody(socket: Socket, response: ServerResponse, bytes: number): void {
    const connection = this.#open.get(socket);
    // Node gives the socket to a response when it is the next one.
    if (connection === undefined || response.socket !== null) return;
    this.block(connection, bytes);
    if (socket.destroyed) return;
    response.once('socket', () => this.unblock(connection, bytes));
    this.#hold(connection);
  }

  /** Ends a wait when its client leaves, until {@link forget} is called. */
  endWithClient(wait: Wait, socket: Socket): void {
    this.#open.get(socket)?.waits.add(wait);
  }

  forget(wait: Wait, socket: Socket): void {
    this.#open.get(socket)?.waits.delete(wait);
  }

  #hold(connection: ClientConnection): void {
    const { socket } = connection;
    if (connection.heldBytes > 0) this.#countHeld(connection, socket.readableLength);
    if (!connection.isHeld && this.mayBeRead(connection)) return;
    connection.isHeld = true;
    socket.pause();
  }

  /**
   * Runs in a turn of the event loop of its own. A hit is answered at once, so that without this all requests of a read
   * would be answered in one turn, while all other connections wait.
   */
  readonly #release = (connection: ClientConnection): void => {
    const { socket } = connection;
    if (!connection.isHeld || !this.mayBeRead(connection)) return;
    connection.isHeld = false;
    if (!isPausedByNode(socket)) socket.resume();
  };

  /** Whether one more request of a connection may be read. */
  mayBeRead({ unanswered, blockedBytes }: ClientConnection): boolean {
    const isScarce = this.#unanswered >= this.#maxUnanswered || this.#isMemoryFull();
    return unanswered <= (isScarce || blockedBytes > MOST_BLOCKED_BYTES_EACH ? 1 : MOST_PIPELINED);
  }

  #countBlocked(connection: ClientConnection, growth: number): void {
    connection.blockedBytes += growth;
    this.#blockedBytes += growth;
  }

  #countHeld(connection: ClientConnection, bytes: number): void {
    const growth = bytes - connection.heldBytes;
    if (this.#heldBytes + growth > MOST_HELD_BYTES && growth > 0) {
      connection.socket.destroy();
      return;
    }
    this.#heldBytes += growth;
    connection.heldBytes = bytes;
  }

  #onAnswered(connection: ClientConnection): void {
    this.end(connection);
    if (connection.isHeld && this.mayBeRead(connection)) setImmediate(this.#release, connection);
  }

  #remove(connection: ClientConnection): void {
    this.#open.delete(connection.socket);
    this.#unanswered -= connection.unanswered;
    connection.unanswered = 0;
    this.#countHeld(connection, 0);
    this.#countBlocked(connection, -connection.blockedBytes);
    if (connection.waits.size === 0) return;
    const reason = new ProxyError('client-left', 'the client left');
    for (const wait of connection.waits) wait.end(reason);
  }
}

/**
 * Whether Node's HTTP server has paused a connection because its client does not read its answers. The server resumes it
 * by itself, and fails an assertion if data comes before (lib/_http_server.js, `socketOnData`).
 */
function isPausedByNode(socket: Socket & { readonly _paused?: boolean }): boolean {
  return socket._paused === true;
}
