import { type Frame, parseFrame } from './frame.ts';
import type { ReportStream } from './reports.ts';
import type { OpenSocket, Socket } from './socket.ts';

export interface StreamConnectionDependencies {
  readonly open: OpenSocket;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** The connection is up, without a subscription yet. */
  readonly onUp: () => void;
  /** The connection was up and is lost, together with its subscription. */
  readonly onDown: () => void;
  /** An event, or the answer to a subscription. */
  readonly onFrame: (frame: Exclude<Frame, { kind: 'bad' }>) => void;
  readonly report: ReportStream;
}

/** The time between pings. */
const PING_EVERY_MS = 15_000;

/** The server must answer a message within this time; also the timeout of opening the connection. */
const ANSWER_WITHIN_MS = 10_000;

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;

/** The id of pings; subscriptions have numbers. */
const PING_ID = 'ping';

/**
 * Keeps one connection to the Streaming API. It counts as up when the server has answered a ping: a server at its limit
 * of connections never does. It ends when any message is not answered within 10 s. A lost connection is opened again
 * after 250 ms. The delay doubles up to 30 s, until a connection has answered a second ping, after 15 s. Jitter
 * shortens each delay by up to a half.
 */
export class StreamConnection {
  readonly #dependencies: StreamConnectionDependencies;
  /** By the id of a message without an answer. */
  readonly #deadlines = new Map<string, NodeJS.Timeout>();
  #socket: Socket | undefined;
  #isUp = false;
  #failures = 0;
  #serverError: string | undefined;
  #nextPing: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;

  constructor(dependencies: StreamConnectionDependencies) {
    this.#dependencies = dependencies;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Begins to connect. Call once: a lost connection is opened again automatically. */
  start(): void {
    this.#serverError = undefined;
    this.#expectAnswer(PING_ID);
    this.#socket = this.#dependencies.open({
      onOpen: () => this.#ping(),
      onMessage: (data) => this.#take(parseFrame(data)),
      onClose: (reason) => this.#lost(this.#serverError ?? reason),
    });
  }

  /** Sends one operation, which the server has to answer; `false` if the connection is not up. */
  send(message: { readonly id: string }): boolean {
    if (!this.#isUp) return false;
    this.#expectAnswer(message.id);
    this.#socket?.send(JSON.stringify(message));
    return true;
  }

  /** Ends it for good, without a report. */
  close(): void {
    this.#drop();
    clearTimeout(this.#reconnect);
  }

  #take(frame: Frame): void {
    if (frame.kind === 'bad') {
      this.#dependencies.report({ name: 'stream-bad-frame' });
    } else if (frame.kind === 'reply' && frame.status === 'pong') {
      clearTimeout(this.#deadlines.get(PING_ID));
      if (this.#isUp) this.#failures = 0;
      else this.#rise();
    } else if (this.#isUp) {
      if (frame.kind !== 'event') clearTimeout(this.#deadlines.get(frame.id ?? ''));
      this.#dependencies.onFrame(frame);
    } else if (frame.kind === 'error') {
      this.#serverError = frame.error;
    }
  }

  #rise(): void {
    this.#isUp = true;
    this.#dependencies.report({ name: 'stream-connected' });
    this.#dependencies.onUp();
  }

  #ping(): void {
    this.#expectAnswer(PING_ID);
    this.#socket?.send(JSON.stringify({ operation: 'ping', id: PING_ID }));
    this.#nextPing = setTimeout(() => this.#ping(), PING_EVERY_MS).unref();
  }

  #expectAnswer(id: string): void {
    clearTimeout(this.#deadlines.get(id));
    const onOverdue = () => this.#lost('the server does not answer');
    this.#deadlines.set(id, setTimeout(onOverdue, ANSWER_WITHIN_MS).unref());
  }

  #lost(reason: string): void {
    const { onDown, random, report } = this.#dependencies;
    const wasUp = this.#isUp;
    this.#drop();
    report({ name: 'stream-disconnected', reason });
    if (wasUp) onDown();
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** this.#failures, LONGEST_DELAY_MS);
    this.#failures++;
    this.#reconnect = setTimeout(() => this.start(), delayMs * (1 - random() / 2)).unref();
  }

  #drop(): void {
    this.#isUp = false;
    clearTimeout(this.#nextPing);
    for (const deadline of this.#deadlines.values()) clearTimeout(deadline);
    this.#deadlines.clear();
    this.#socket?.close();
    this.#socket = undefined;
  }
}
