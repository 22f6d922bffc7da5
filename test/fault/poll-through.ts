import { expect } from 'vitest';
import type { World } from '../e2e/world.ts';
import { accountOf, byAccount, byHash, send } from '../support/streaming-world.ts';

/** The longest time after its request for which an answer may be served, and the length of one step. */
const WINDOW_MS = 2000 + 100;

const STEPS = 100;

/** The indexer's texts for a target, each with the last instant at which it was true. */
class Truth {
  readonly #lastTrueAt = new Map<string, number>();

  learn(text: string, at: number): void {
    this.#lastTrueAt.set(text, at);
  }

  ageOf(text: string, now: number): number {
    return now - (this.#lastTrueAt.get(text) ?? Number.NEGATIVE_INFINITY);
  }
}

/**
 * Polls two accounts and a hash every 100 ms for 10 s in which traces come and go. Every reply is a 200 that was true
 * at most a window ago.
 */
export async function pollThrough(world: World, meddle: (step: number) => unknown): Promise<void> {
  const targets = [byAccount(accountOf(world)), byAccount(accountOf(world, 1))];
  const truths = new Map<string, Truth>();
  for (let step = 0; step < STEPS; step++) {
    if (step % 25 === 5) targets[2] = byHash(send(world).externalHash);
    meddle(step);
    world.advance(100);
    for (const target of targets) {
      const truth = truths.get(target) ?? new Truth();
      truths.set(target, truth);
      truth.learn((await world.askIndexer(target)).text, world.now);
      const reply = await world.ask(target);
      expect(reply.status).toBe(200);
      expect(truth.ageOf(reply.text, world.now), `step ${step} of ${target}`).toBeLessThanOrEqual(WINDOW_MS);
    }
  }
}
