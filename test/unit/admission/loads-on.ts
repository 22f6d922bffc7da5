import { afterEach, beforeEach, expect } from 'vitest';
import { restoreClock, simulateClock } from '../../support/simulated-clock.ts';
import { about, SimulatedLoad } from './simulated-load.ts';

export const WORKERS = 20;
/** The default of `upstream.maxConcurrency`. */
export const SLOTS = 64;
/** The default of `admission.patience`. */
export const PATIENCE_MS = 1500;

/** The maximum number of answers a second of the indexer. */
export const capacityOf = (serviceMs: number) => (WORKERS * 1000) / serviceMs;

export function loadOn(serviceMs: number, seed = 'load'): SimulatedLoad {
  return new SimulatedLoad({ indexer: { workers: WORKERS, serviceMs: about(serviceMs) }, seed });
}

/** Expects that requests were served, and that none was refused or timed out. */
export function expectAllServed(load: SimulatedLoad, operation?: string): void {
  const { refused, timedOut, served } = load.of(operation);
  expect({ refused, timedOut, isServed: served > 0 }).toEqual({ refused: 0, timedOut: 0, isServed: true });
}

/** Call at the top of a test file: simulates the clock in each test, so that waits take no real time. */
export function simulateTime(): void {
  beforeEach(() => simulateClock());
  afterEach(restoreClock);
}
