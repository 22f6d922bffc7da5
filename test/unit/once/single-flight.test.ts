import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SingleFlight } from '../../../src/once/single-flight.ts';
import { leavingBy } from './leaving.ts';
import { ManualLoad, newFlights, type Outcome, patient, settle } from './manual-load.ts';

let flights: SingleFlight<Outcome>;

beforeEach(() => {
  vi.useFakeTimers();
  flights = newFlights();
});

afterEach(() => vi.useRealTimers());

const join = (key: string, load: ManualLoad, signal = patient) => flights.join(key, leavingBy(signal), load.run);

describe('a waiter who leaves', () => {
  test('learns that the flight had not departed, even when it had left before it joined', async () => {
    const load = new ManualLoad();
    expect(await join('k', load, AbortSignal.abort())).toEqual({ state: 'left', departed: false, collapsed: false });
    expect(flights.size).toBe(0);
  });
});

describe('a thousand followers of one flight', () => {
  test('get their value in batches, and those that leave between two batches get none', async () => {
    const load = new ManualLoad();
    const leaving = new AbortController();
    const waits = Array.from({ length: 999 }, () => join('k', load));
    const last = join('k', load, leaving.signal);
    let landed = 0;
    for (const wait of waits) void wait.then(() => landed++);
    load.land({ name: 'x' });
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    expect([landed, flights.hasFlightToFollow('k')]).toEqual([256, false]);
    leaving.abort();
    expect(await last).toEqual({ state: 'left', departed: false, collapsed: true });
    await vi.runAllTimersAsync();
    expect(landed).toBe(999);
  });
});

describe('a flight that nobody waits for', () => {
  test('does not end the later flight of its key when it ends', async () => {
    const [first, second] = [new ManualLoad(), new ManualLoad()];
    const waiter = new AbortController();
    const left = join('k', first, waiter.signal);
    waiter.abort();
    await left;
    const younger = join('k', second);
    first.land({ name: 'cancelled' });
    await settle();
    const follower = join('k', new ManualLoad());
    second.land({ name: 'second' });
    expect(await younger).toMatchObject({ value: { name: 'second' } });
    expect(await follower).toMatchObject({ value: { name: 'second' }, collapsed: true });
  });
});
