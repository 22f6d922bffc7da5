import { type Launched, launch } from '../launch.ts';
import type { Listening, Sample } from './busy-indexer.ts';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import type { IndexerFault } from './scenarios.ts';

/** The overloaded indexer in a process of its own, and what it tells of itself. */
export class IndexerProcess implements AsyncDisposable {
  readonly url: string;
  /** When its chain began, epoch ms. */
  readonly chainStartAt: number;
  readonly #process: Launched;
  readonly #samples: Sample[] = [];

  constructor(process: Launched, { url, startAt }: Listening) {
    this.#process = process;
    this.url = url;
    this.chainStartAt = startAt;
    void this.#listen();
  }

  /** The most requests that it had in hand between two instants, epoch ms. */
  maxInHand(from: number, until: number): number {
    const samples = this.#samples.filter(({ at }) => at >= from && at <= until);
    return Math.max(0, ...samples.map(({ maxInHand }) => maxInHand));
  }

  /** CPU time that it had used at an instant, epoch ms, to a tenth of a second. */
  cpuMsAt(instant: number): number {
    return this.#samples.findLast(({ at }) => at <= instant)?.cpuMs ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]();
  }

  async #listen(): Promise<void> {
    try {
      for (;;) this.#samples.push(await this.#process.next((line) => line as Sample));
    } catch {
      // It has ended; who asks it will know.
    }
  }
}

/** Starts it, with what goes wrong there; resolves when it listens. */
export async function startBusyIndexer(serviceMs: number, fault?: IndexerFault): Promise<IndexerProcess> {
  const args = [String(serviceMs), ...(fault === undefined ? [] : [fault])];
  const process = launch(new URL('./busy-indexer.ts', import.meta.url), { args, nodeArgs: ENDS_WITH_PARENT });
  return new IndexerProcess(process, await process.next((line) => line as Listening));
}
