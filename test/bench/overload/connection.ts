import { connect, type Socket } from 'node:net';

/** What came back, as far as it is looked at. */
export interface Heard {
  readonly status: number;
  /** Byte for byte (latin1). */
  readonly body: string;
  readonly hasRetryAfter: boolean;
  /** Whether `Cache-Status` says that a cache had it. */
  readonly isHit: boolean;
}

/** No answer, and why: the system's code, or what was wrong with what came. */
export interface Lost {
  readonly lost: string;
}

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = '\r\n\r\n';

/**
 * One kept connection to a port of 127.0.0.1 that carries one request at a time. It reads only what the servers of this
 * bench send: a head, and a body of `Content-Length`. A request costs 15 µs of CPU, with undici 24 and with node:http 50,
 * which the servers that are measured on the same cores would lack.
 */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer = NOTHING;
  #onOutcome: ((outcome: Heard | Lost) => void) | undefined;
  #whyLost = 'closed without an answer';
  #idleSince = 0;

  constructor(port: number, localAddress = '127.0.0.1') {
    this.#socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#whyLost = error.code ?? error.message;
    });
    this.#socket.on('close', () => this.#report({ lost: this.#whyLost }));
  }

  /** Whether it may carry a request, and was last used at most that long ago. */
  isUsable(idleMs: number): boolean {
    return this.#socket.writable && this.#socket.readable && performance.now() - this.#idleSince <= idleMs;
  }

  /** Sends a whole request as text; `told` is called once, unless the connection is closed before. */
  ask(request: string, onOutcome: (outcome: Heard | Lost) => void): void {
    this.#onOutcome = onOutcome;
    this.#socket.write(request, 'latin1');
  }

  /** Leaves, answered or not. */
  close(): void {
    this.#onOutcome = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headBytes = this.#received.indexOf(END_OF_HEAD);
    if (headBytes < 0) return;
    const head = this.#received.toString('latin1', 0, headBytes + 2);
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    if (length === undefined) {
      this.#whyLost = 'no Content-Length';
      this.#socket.destroy();
      return;
    }
    const bodyStart = headBytes + END_OF_HEAD.length;
    const end = bodyStart + Number(length);
    if (this.#received.length < end) return;
    const body = this.#received.toString('latin1', bodyStart, end);
    this.#received = NOTHING;
    this.#idleSince = performance.now();
    if (/\r\nconnection: *close\r\n/i.test(head)) this.#socket.end();
    this.#report({
      status: Number(head.slice(9, 12)),
      body,
      hasRetryAfter: /\r\nretry-after: *\d+\r\n/i.test(head),
      isHit: /\r\ncache-status:[^\r]*; *hit\b/i.test(head),
    });
  }

  #report(outcome: Heard | Lost): void {
    const onOutcome = this.#onOutcome;
    this.#onOutcome = undefined;
    onOutcome?.(outcome);
  }
}
