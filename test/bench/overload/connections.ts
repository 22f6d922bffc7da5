import { randomBytes } from 'node:crypto';
import { Connection, type Heard, type Lost } from './connection.ts';

/**
 * How clients show who they are: each by an address of its own; all behind one proxy, which forwards their addresses; or
 * by an address, with another one and a key invented for each request.
 */
export type Identity = 'address' | 'forwarded' | 'invented';

/** Shorter than any server here keeps an idle connection: a request must not meet a closing one. */
const LONGEST_IDLE_MS = 3000;

const PROXY = '127.0.0.1';

/** As many connections to a port of 127.0.0.1 as there are requests at once: nobody waits for one. */
export class Connections {
  readonly #port: number;
  readonly #addresses: readonly string[];
  readonly #identity: Identity;
  /** For each of the addresses. */
  readonly #idle: readonly Connection[][];
  #asked = 0;

  /** `addresses`: of 127.0.0.0/8, from which requests come in turn. */
  constructor(port: number, addresses: readonly string[] = [PROXY], identity: Identity = 'address') {
    this.#port = port;
    this.#addresses = addresses;
    this.#identity = identity;
    this.#idle = addresses.map(() => []);
  }

  /** Sends `GET` for a path and query. What it returns makes the client leave without an answer. */
  ask(target: string, onOutcome: (outcome: Heard | Lost) => void): () => void {
    const number = this.#asked++ % this.#addresses.length;
    const connection = this.#take(number);
    const head = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n${this.#fields(number)}\r\n`;
    connection.ask(head, (outcome) => {
      this.#idle[number]?.push(connection);
      onOutcome(outcome);
    });
    return () => connection.close();
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
      if (newest.isUsable(LONGEST_IDLE_MS)) return newest;
      newest.close();
    }
  }
}
