import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';

/** Something to send, in milliseconds from the begin of the load. */
export interface Due {
  readonly dueMs: number;
}

/** What is due is sent after this time at the most. */
const TICK_MS = 1;

/** Sends each item when it is due, however long the earlier ones take; resolves with all results when the last one is there. */
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

/** So many instants a second, evenly. */
export function evenly(perSecond: number, seconds: number): Due[] {
  return Array.from({ length: perSecond * seconds }, (_, number) => ({ dueMs: (number * 1000) / perSecond }));
}

/** As many instants a second on average as those have who know nothing of each other: with exponential gaps. */
export function byChance(perSecond: number, fromMs: number, untilMs: number, random: SeededRandom): Due[] {
  const dues: Due[] = [];
  const gapMs = () => (-Math.log(1 - random.next()) * 1000) / perSecond;
  for (let dueMs = fromMs + gapMs(); dueMs < untilMs; dueMs += gapMs()) dues.push({ dueMs });
  return dues;
}
