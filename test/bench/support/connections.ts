import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** The parts of an answer that are read; without an answer the reason: `left`, or the system's code. */
export interface Heard {
  /** 0 without an answer. */
  readonly status: number;
  /** Byte for byte (latin1). */
  readonly body: string;
  readonly hasRetryAfter: boolean;
  readonly isHit: boolean;
  /** True if the hit was also proven by blocks. */
  readonly isProven: boolean;
}

/**
 * How the server can tell clients apart: each has its own address; all are behind one proxy, which forwards their
 * addresses; or one address, with another forwarded address and key invented for each request.
 */
export type Identity = 'address' | 'forwarded' | 'invented';

/** Shorter than any server here keeps an idle connection: a request must not meet a closing one. */
const LONGEST_IDLE_MS = 3000;
const PATIENCE_MS = 30_000;
const PROXY = '127.0.0.1';
const END_OF_HEAD = '\r\n\r\n';

/** As many connections to a port of 127.0.0.1 as there are concurrent requests: no request waits for one. */
export class Connections {
  readonly #port: number;
  readonly #addresses: readonly string[];
  readonly #identity: Identity;
  /** For each of the addresses. */
  readonly #idle: readonly Connection[][];
  #asked = 0;

  /** `addresses`: of 127.0.0.0/8; requests use them in turn. */
  constructor(port: number, addresses: readonly string[] = [PROXY], identity: Identity = 'address') {
    this.#port = port;
    this.#addresses = addresses;
    this.#identity = identity;
    this.#idle = addresses.map(() => []);
  }

  /** Sends `GET` for a path and query, and disconnects without an answer when patience ends. Never rejects. */
  async ask(target: string, patienceMs = PATIENCE_MS): Promise<Heard> {
    const number = this.#asked++ % this.#addresses.length;
    const connection = this.#take(number);
    const head = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n${this.#fields(number)}\r\n`;
    const patience = setTimeout(() => connection.close('left'), patienceMs);
    const heard = await connection.ask(head);
    clearTimeout(patience);
    this.#idle[number]?.push(connection);
    return heard;
  }

  /** Ends every idle connection. */
  close(): void {
    for (const idle of this.#idle) for (const connection of idle.splice(0)) connection.close();
  }

  #fields(number: number): string {
    if (this.#identity === 'address') return '';
    if (this.#identity === 'forwarded') return `X-Forwarded-For: ${this.#addresses[number]}\r\n`;
    const invented = randomBytes(4);
    return `X-Forwarded-For: ${invented.join('.')}\r\nX-Api-Key: ${invented.toString('hex')}\r\n`;
  }

  #take(number: number): Connection {
    for (;;) {
      const newest = this.#idle[number]?.pop();
      const address = this.#identity === 'forwarded' ? PROXY : this.#addresses[number];
      if (newest === undefined) return new Connection(this.#port, address);
      if (newest.isUsable) return newest;
      newest.close();
    }
  }
}

/**
 * One kept connection that carries one request at a time. It reads only what the servers here send: a head, and a body
 * of `Content-Length`. At 4000 requests a second undici was up to 100 ms behind, and took CPU time from the measured
 * process; with node:http the p99 of hits was 103 ms instead of 15.
 */
class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #settle: ((heard: Heard) => void) | undefined;
  #whyLost = 'closed without an answer';
  #idleSince = 0;

  constructor(port: number, localAddress = PROXY) {
    this.#socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#whyLost = error.code ?? error.message;
    });
    this.#socket.on('close', () => this.#lose());
  }

  get isUsable(): boolean {
    return this.#socket.writable && this.#socket.readable && performance.now() - this.#idleSince <= LONGEST_IDLE_MS;
  }

  ask(request: string): Promise<Heard> {
    const { promise, resolve } = Promise.withResolvers<Heard>();
    this.#settle = resolve;
    this.#socket.write(request, 'latin1');
    return promise;
  }

  close(why = this.#whyLost): void {
    this.#whyLost = why;
    this.#lose();
    this.#socket.destroy();
  }

  #lose(): void {
    this.#settle?.({ status: 0, body: this.#whyLost, hasRetryAfter: false, isHit: false, isProven: false });
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headBytes = this.#received.indexOf(END_OF_HEAD);
    if (headBytes < 0) return;
    const head = this.#received.toString('latin1', 0, headBytes + 2);
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    if (length === undefined) {
      this.close('no Content-Length');
      return;
    }
    const bodyStart = headBytes + END_OF_HEAD.length;
    const end = bodyStart + Number(length);
    if (this.#received.length < end) return;
    const body = this.#received.toString('latin1', bodyStart, end);
    this.#received = Buffer.alloc(0);
    this.#idleSince = performance.now();
    if (/\r\nconnection: *close\r\n/i.test(head)) this.#socket.end();
    this.#settle?.({
      status: Number(head.slice(9, 12)),
      body,
      hasRetryAfter: /\r\nretry-after: *\d+\r\n/i.test(head),
      isHit: /\r\ncache-status:[^\r]*; *hit\b/i.test(head),
      isProven: /\r\ncache-status:[^\r]*; *detail=proven\b/i.test(head),
    });
  }
}
