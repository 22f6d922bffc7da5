import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';

/** An item to send, in milliseconds from the beginning of the load. */
export interface Due {
  readonly dueMs: number;
}

/** A due item is sent at most this much later. */
const TICK_MS = 1;

/**
 * Sends each item when it is due, independent of earlier answers. Resolves with all results when the last one has
 * arrived.
 */
export async function openLoop<T extends Due, Result>(
  items: Iterable<T>,
  send: (item: T, startedAt: number) => Promise<Result>,
): Promise<Result[]> {
  const startedAt = performance.now();
  const results: Promise<Result>[] = [];
  for (const item of items) {
    while (performance.now() - startedAt < item.dueMs) await delay(TICK_MS);
    results.push(send(item, startedAt));
  }
  return await Promise.all(results);
}

/** This many instants a second, evenly. */
export function evenly(perSecond: number, seconds: number): Due[] {
  return Array.from({ length: perSecond * seconds }, (_, number) => ({ dueMs: (number * 1000) / perSecond }));
}

/** This many instants a second on average, with exponential gaps, as of independent clients. */
export function byChance(perSecond: number, fromMs: number, untilMs: number, random: SeededRandom): Due[] {
  const dues: Due[] = [];
  const gapMs = () => (-Math.log(1 - random.next()) * 1000) / perSecond;
  for (let dueMs = fromMs + gapMs(); dueMs < untilMs; dueMs += gapMs()) dues.push({ dueMs });
  return dues;
}
