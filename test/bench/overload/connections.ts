import { Connection, type Heard, type Lost } from './connection.ts';

/** Shorter than any server here keeps an idle connection: a request must not meet a closing one. */
const LONGEST_IDLE_MS = 3000;

/** As many connections to a port of 127.0.0.1 as there are requests at once: nobody waits for one. */
export class Connections {
  readonly #port: number;
  readonly #idle: Connection[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends `GET` for a path and query. What it returns makes the client leave without an answer. */
  ask(target: string, onOutcome: (outcome: Heard | Lost) => void): () => void {
    const connection = this.#take();
    connection.ask(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n\r\n`, (outcome) => {
      this.#idle.push(connection);
      onOutcome(outcome);
    });
    return () => connection.close();
  }

  /** Ends every idle connection. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  #take(): Connection {
    for (;;) {
      const newest = this.#idle.pop();
      if (newest === undefined) return new Connection(this.#port);
      if (newest.isUsable(LONGEST_IDLE_MS)) return newest;
      newest.close();
    }
  }
}
