// The package brings no types: these are of what is used here.
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Request {
    readonly path: string;
  }

  interface Client {
    setRequests(requests: readonly Request[]): void;
  }

  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: readonly Request[];
    readonly setupClient: (client: Client) => void;
  }

  interface Result {
    readonly errors: number;
    readonly non2xx: number;
  }

  interface Run extends EventEmitter, PromiseLike<Result> {
    on(event: 'response', listener: (client: Client, status: number, bytes: number, ms: number) => void): this;
  }

  export default function autocannon(options: Options): Run;
}
