import { Connection, type Heard, type Lost } from './connection.ts';

/** Shorter than any server here keeps an idle connection: a request must not meet a closing one. */
const LONGEST_IDLE_MS = 3000;

/** As many connections to a port of 127.0.0.1 as there are requests at once: nobody waits for one. */
export class Connections {
  readonly #port: number;
  readonly #addresses: readonly string[];
  /** For each of the addresses. */
  readonly #idle: readonly Connection[][];
  #asked = 0;

  /** `addresses`: of 127.0.0.0/8, from which requests are sent in turn. */
  constructor(port: number, addresses: readonly string[] = ['127.0.0.1']) {
    this.#port = port;
    this.#addresses = addresses;
    this.#idle = addresses.map(() => []);
  }

  /** Sends `GET` for a path and query. What it returns makes the client leave without an answer. */
  ask(target: string, onOutcome: (outcome: Heard | Lost) => void): () => void {
    const number = this.#asked++ % this.#addresses.length;
    const connection = this.#take(number);
    connection.ask(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n\r\n`, (outcome) => {
      this.#idle[number]?.push(connection);
      onOutcome(outcome);
    });
    return () => connection.close();
  }

  /** Ends every idle connection. */
  close(): void {
    for (const idle of this.#idle) for (const connection of idle.splice(0)) connection.close();
  }

  #take(number: number): Connection {
    for (;;) {
      const newest = this.#idle[number]?.pop();
      if (newest === undefined) return new Connection(this.#port, this.#addresses[number]);
      if (newest.isUsable(LONGEST_IDLE_MS)) return newest;
      newest.close();
    }
  }
}
