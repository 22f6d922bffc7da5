import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SingleFlight } from '../../../src/coalescing/single-flight.ts';
import { leavingBy } from './leaving.ts';
import { FAILURE_TTL_MS, ManualLoad, newFlights, type Outcome, patient, settle } from './manual-load.ts';

let flights: SingleFlight<Outcome>;

beforeEach(() => {
  vi.useFakeTimers();
  flights = newFlights();
});

afterEach(() => vi.useRealTimers());

const join = (key: string, load: ManualLoad, signal = patient) => flights.join(key, leavingBy(signal), load.run);

describe('a flight that failed', () => {
  test('gives its failure to all waiters, and to all who come in the next 250 ms', async () => {
    const load = new ManualLoad();
    const waits = [join('k', load), join('k', load)];
    await vi.advanceTimersByTimeAsync(5000);
    load.land({ name: 'down', failed: true });
    const failed = { state: 'landed', value: { name: 'down', failed: true } };
    expect(await Promise.all(waits)).toMatchObject([failed, failed]);
    await vi.advanceTimersByTimeAsync(FAILURE_TTL_MS - 1);
    expect(await join('k', new ManualLoad())).toMatchObject({ ...failed, collapsed: true });
    await vi.advanceTimersByTimeAsync(1);
    const next = new ManualLoad();
    const again = join('k', next);
    next.land({ name: 'up' });
    expect(await again).toMatchObject({ value: { name: 'up' }, collapsed: false });
  });

  test('is not kept for another key', async () => {
    const load = new ManualLoad();
    const wait = join('k', load);
    load.land({ name: 'down', failed: true });
    await wait;
    const other = new ManualLoad();
    void join('other', other);
    expect(other.flights).toHaveLength(1);
  });

  test('is forgotten after the failure TTL', async () => {
    const load = new ManualLoad();
    const wait = join('k', load);
    load.land({ name: 'down', failed: true });
    await wait;
    expect(flights.size).toBe(1);
    await vi.advanceTimersByTimeAsync(FAILURE_TTL_MS);
    expect(flights.size).toBe(0);
  });
});

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
