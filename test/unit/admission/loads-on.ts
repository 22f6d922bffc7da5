import { afterEach, beforeEach, expect } from 'vitest';
import { restoreClock, simulateClock } from '../../support/simulated-clock.ts';
import { about, SimulatedLoad } from './simulated-load.ts';

export const WORKERS = 20;
/** Slots as shipped. */
export const SLOTS = 64;
/** As shipped. */
export const PATIENCE_MS = 1500;

/** Answers a second that an indexer gives at most. */
export const capacityOf = (serviceMs: number) => (WORKERS * 1000) / serviceMs;

export function loadOn(serviceMs: number, seed = 'load'): SimulatedLoad {
  return new SimulatedLoad({ indexer: { workers: WORKERS, serviceMs: about(serviceMs) }, seed });
}

/** That every request was served. */
export function expectAllServed(load: SimulatedLoad, operation?: string): void {
  const { refused, timedOut, served } = load.of(operation);
  expect({ refused, timedOut, isServed: served > 0 }).toEqual({ refused: 0, timedOut: 0, isServed: true });
}

/** For a test file: durations pass as fast as they are simulated. */
export function simulateTime(): void {
  beforeEach(() => simulateClock());
  afterEach(restoreClock);
}
