import type { Socket } from 'node:net';
import type { ClientConnection, ClientConnections } from './client-connections.ts';
import type { HitBytes } from './hit-bytes.ts';
import type { JointWrites } from './joint-write.ts';
import { CLOSE_END, keepAliveEnd, messageHead } from './message-head.ts';
import type { ResponseMessage } from './response-message.ts';
import { isOneSlice, writeInSlices } from './send-body.ts';

/** Written for the sake of its callback, which is called when all bytes before it have left. */
const NOTHING = Buffer.alloc(0);

/** What the writers of all connections share. */
export interface FastLaneWriterDependencies {
  readonly connections: ClientConnections;
  readonly jointWrites: JointWrites;
  /** Whether the server drains: then the last answer of a connection closes it. */
  readonly isDraining: () => boolean;
  /** Milliseconds that only go forward, accurate to a second. */
  readonly coarseNow: () => number;
}

export interface FastLaneWriterOptions {
  readonly keepAliveMs: number;
  /** A connection is cut when no byte of an answer leaves for so long, in milliseconds. */
  readonly stallMs: number;
}

/** The place of an answer among those of its connection. */
interface Turn {
  /** The head without its connection fields; `undefined` until there is an answer. */
  head: string | undefined;
  body: Buffer | string | undefined;
  /** How much of it was counted, because other answers go first. */
  blockedBytes: number;
}

/** Writes the answers of a connection, in the order of their requests. */
export class FastLaneWriter {
  readonly #connection: ClientConnection;
  readonly #socket: Socket;
  readonly #dependencies: FastLaneWriterDependencies;
  readonly #options: FastLaneWriterOptions;
  readonly #onAnswered: () => void;
  readonly #turns: Turn[] = [];
  #isWriting = false;
  #isStopped = false;
  /** When the last answer left, by `coarseNow`. */
  answeredAt: number;

  /** `onAnswered` is called when an answer that did not leave at once has left. */
  constructor(
    connection: ClientConnection,
    dependencies: FastLaneWriterDependencies,
    options: FastLaneWriterOptions,
    onAnswered: () => void,
  ) {
    this.#connection = connection;
    this.#socket = connection.socket;
    this.#dependencies = dependencies;
    this.#options = options;
    this.#onAnswered = onAnswered;
    this.answeredAt = performance.now();
  }

  /** Whether an answer is on its way out, so that no other one can be written. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  get isIdle(): boolean {
    return this.#turns.length === 0 && !this.#isWriting;
  }

  /** Writes a hit, if `isIdle`. */
  writeHit(hit: HitBytes): void {
    this.#socket.write(hit.bytes);
    if (this.#socket.writableLength === 0) {
      this.answeredAt = this.#dependencies.coarseNow();
      return;
    }
    hit.pendingWrites++;
    this.#dependencies.connections.begin(this.#connection);
    this.#beginToWait();
    this.#socket.write(NOTHING, () => {
      hit.pendingWrites--;
      this.#onWritten();
    });
  }

  /** Reserves the next turn. The returned function takes its answer, and throws if that cannot be sent. */
  inTurn(): (message: ResponseMessage) => void {
    const { connections } = this.#dependencies;
    const turn: Turn = { head: undefined, body: undefined, blockedBytes: 0 };
    this.#turns.push(turn);
    connections.begin(this.#connection);
    return (message) => {
      turn.head = messageHead(message);
      turn.body = message.body;
      if (this.#isWriting || turn !== this.#turns[0]) {
        turn.blockedBytes = message.body?.length ?? 0;
        connections.block(this.#connection, turn.blockedBytes);
      }
      if (!this.#isWriting) this.#writeNext();
    };
  }

  /** Begins to write no further answer. */
  stop(): void {
    this.#isStopped = true;
  }

  #writeNext(): void {
    while (!this.#isWriting && !this.#isStopped && this.#socket.writable) {
      const [turn] = this.#turns;
      if (turn?.head === undefined) break;
      this.#turns.shift();
      this.#dependencies.connections.unblock(this.#connection, turn.blockedBytes);
      this.#write(turn.head, turn.body);
    }
    this.#onAnswered();
  }

  #write(head: string, body: Buffer | string | undefined): void {
    const socket = this.#socket;
    const { isDraining, jointWrites } = this.#dependencies;
    const { keepAliveMs } = this.#options;
    const isLast = isDraining() && this.#turns.length === 0;
    const wholeHead = head + (isLast ? CLOSE_END : keepAliveEnd(keepAliveMs));
    const bytes = typeof body === 'string' ? Buffer.from(body) : (body ?? NOTHING);
    if (!isOneSlice(bytes)) {
      socket.write(wholeHead, 'latin1');
      this.#beginToWait();
      writeInSlices(socket, bytes, (slice) => socket.write(slice, this.#onWritten));
      return;
    }
    jointWrites.write(socket, wholeHead, bytes);
    if (socket.writableLength === 0) {
      this.#onLeft();
    } else {
      this.#beginToWait();
      socket.write(NOTHING, this.#onWritten);
    }
  }

  #beginToWait(): void {
    this.#isWriting = true;
    this.#socket.setTimeout(this.#options.stallMs);
  }

  readonly #onWritten = (): void => {
    this.#isWriting = false;
    this.#socket.setTimeout(0);
    this.#onLeft();
    this.#writeNext();
  };

  #onLeft(): void {
    const { connections, coarseNow, isDraining } = this.#dependencies;
    connections.end(this.#connection);
    this.answeredAt = coarseNow();
    if (isDraining() && this.#turns.length === 0) this.#socket.destroySoon();
  }
}
