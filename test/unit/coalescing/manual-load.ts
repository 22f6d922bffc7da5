import type { Flight } from '../../../src/coalescing/single-flight.ts';

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
