import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import type { Connections, Heard } from '../support/connections.ts';

/** A request that a client sends again and again, and how its answers are judged. */
export interface PollOptions {
  /** Path and query. */
  readonly target: string;
  readonly everyMs: number;
  /** The place of the client. Its requests go to one instance, or to each instance in turn. */
  readonly place: number;
  readonly keepsToInstance: boolean;
  /** How long a body had lacked a commit when its request was sent, at an instant (epoch ms); 0: a second or less. */
  readonly lackedMs: (body: string, sentAt: number) => number;
}

/** A client, and the results of its counted polls. */
export class Poll {
  polls = 0;
  proven = 0;
  /** Answers that lacked a commit of more than a second before the request, and the longest such time, ms. */
  lacking = 0;
  latestMs = 0;
  refused = 0;
  readonly #options: PollOptions;
  readonly #random: SeededRandom;

  constructor(options: PollOptions) {
    this.#options = options;
    this.#random = new SeededRandom('polls', options.place, options.target);
  }

  /** Polls at its pace. Polls count from one instant on (epoch ms). */
  async run(
    connections: readonly Connections[],
    { countedAt, untilAt }: { readonly countedAt: number; readonly untilAt: number },
  ): Promise<void> {
    const { everyMs, keepsToInstance, place, target } = this.#options;
    await delay(this.#random.next() * everyMs);
    for (let polls = 0; Date.now() < untilAt; polls++) {
      const sentAt = Date.now();
      const at = keepsToInstance ? place : place + polls;
      const heard = await connections[at % connections.length]?.ask(target);
      if (heard !== undefined && sentAt >= countedAt) this.#judge(heard, sentAt);
      const pauseMs = everyMs * (0.9 + 0.2 * this.#random.next());
      await delay(Math.max(0, Math.min(sentAt + pauseMs, untilAt) - Date.now()));
    }
  }

  #judge({ status, body, isProven }: Heard, sentAt: number): void {
    this.polls++;
    if (status !== 200) {
      this.refused++;
      return;
    }
    if (isProven) this.proven++;
    const lackedMs = this.#options.lackedMs(body, sentAt);
    if (lackedMs > 0) this.lacking++;
    this.latestMs = Math.max(this.latestMs, lackedMs);
  }
}
