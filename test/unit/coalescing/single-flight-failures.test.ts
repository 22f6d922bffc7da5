import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SingleFlight } from '../../../src/coalescing/single-flight.ts';
import { leavingBy } from './leaving.ts';
import { ManualLoad, newFlights, type Outcome, patient, settle } from './manual-load.ts';

let flights: SingleFlight<Outcome>;

beforeEach(() => {
  vi.useFakeTimers();
  flights = newFlights();
});

afterEach(() => vi.useRealTimers());

const join = (key: string, load: ManualLoad, signal = patient) => flights.join(key, leavingBy(signal), load.run);

describe('a load that throws', () => {
  test('rejects all waiters, and is not kept', async () => {
    const load = new ManualLoad();
    const waits = Promise.allSettled([join('k', load), join('k', load)]);
    const bug = new Error('bug');
    load.crash(bug);
    expect(await waits).toEqual([
      { status: 'rejected', reason: bug },
      { status: 'rejected', reason: bug },
    ]);
    expect(flights.size).toBe(0);
  });

  test('does not end the process when all waiters have left', async () => {
    const load = new ManualLoad();
    const waiter = new AbortController();
    const left = join('k', load, waiter.signal);
    load.depart();
    waiter.abort();
    await left;
    // The runner fails on a rejection that nobody handles.
    load.crash(new Error('bug'));
    await settle();
    expect(flights.size).toBe(0);
  });

  test('does not end the process when nobody ever waited', async () => {
    const load = new ManualLoad();
    await join('k', load, AbortSignal.abort());
    load.crash(new Error('bug'));
    await settle();
    expect(flights.size).toBe(0);
  });

  test('does not block its key when it throws before it returns a promise', async () => {
    const thrown = flights.join('k', leavingBy(patient), () => {
      throw new Error('bug');
    });
    await expect(thrown).rejects.toThrow('bug');
    const next = new ManualLoad();
    void join('k', next);
    expect(next.flights).toHaveLength(1);
  });
});
