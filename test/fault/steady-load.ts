import { setTimeout as pause } from 'node:timers/promises';
import type { RunningProxy } from '../support/start-proxy.ts';

/** Clients of each proxy, and what lies between an answer and the next request, ms. */
const [CLIENTS, PAUSE_MS] = [3, 5];

/** Clients that ask again as soon as they are answered, one after another of some targets. */
export class SteadyLoad implements AsyncDisposable {
  readonly #statuses = new Map<number, number>();
  readonly #clients: Promise<void>[];
  #asked = 0;
  #ended = false;

  constructor(proxies: readonly RunningProxy[], targets: readonly string[]) {
    const client = async (proxy: RunningProxy) => {
      while (!this.#ended) {
        const { status } = await proxy.ask(targets[this.#asked++ % targets.length] ?? '');
        this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
        await pause(PAUSE_MS);
      }
    };
    this.#clients = proxies.flatMap((proxy) => Array.from({ length: CLIENTS }, () => client(proxy)));
    for (const it of this.#clients) it.catch(() => {});
  }

  /** How many requests were answered. */
  get answered(): number {
    return [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
  }

  /** With what status so far, in rising order. */
  get statuses(): readonly number[] {
    return [...this.#statuses.keys()].sort((a, b) => a - b);
  }

  /** Ends the clients; rejects if one of them was not answered at all. */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#clients);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await Promise.allSettled(this.#clients);
  }
}
