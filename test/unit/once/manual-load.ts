import { vi } from 'vitest';
import { type Flight, SingleFlight } from '../../../src/once/single-flight.ts';

const COLLAPSE_WINDOW_MS = 1000;
const FAILURE_TTL_MS = 250;

/** Of a waiter that never leaves. */
export const patient = new AbortController().signal;

/** What the flights of these tests bring home; a failure is kept for its key. */
export interface Outcome {
  readonly name: string;
  readonly failed?: boolean;
}

/** A load of which the test decides what it does, and when. */
export class ManualLoad {
  /** The flights that were started with it, oldest first. */
  readonly flights: Flight[] = [];
  readonly #landing = Promise.withResolvers<Outcome>();

  readonly run = (flight: Flight): Promise<Outcome> => {
    this.flights.push(flight);
    return this.#landing.promise;
  };

  /** Whether it was cancelled because it has no waiters. */
  get cancelled(): boolean {
    return this.flights.some(({ signal }) => signal.aborted);
  }

  depart(): void {
    for (const flight of this.flights) flight.depart();
  }

  land(outcome: Outcome): void {
    this.#landing.resolve(outcome);
  }

  crash(error: Error): void {
    this.#landing.reject(error);
  }
}

/** Flights whose failures are kept for a while. */
export function newFlights(): SingleFlight<Outcome> {
  return new SingleFlight(
    { failureTtlMs: ({ failed }) => (failed ? FAILURE_TTL_MS : 0), now: () => performance.now() },
    { collapseWindowMs: COLLAPSE_WINDOW_MS },
  );
}

/** Lets everything happen that needs no time. */
export const settle = () => vi.advanceTimersByTimeAsync(0);
