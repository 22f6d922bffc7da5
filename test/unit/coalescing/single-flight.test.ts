import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SingleFlight } from '../../../src/coalescing/single-flight.ts';
import { leavingBy } from './leaving.ts';
import { COLLAPSE_WINDOW_MS, ManualLoad, newFlights, type Outcome, patient, settle } from './manual-load.ts';

let flights: SingleFlight<Outcome>;

beforeEach(() => {
  vi.useFakeTimers();
  flights = newFlights();
});

afterEach(() => vi.useRealTimers());

const join = (key: string, load: ManualLoad, signal = patient) => flights.join(key, leavingBy(signal), load.run);

describe('followers', () => {
  test('share the load of the leader, and its value', async () => {
    const [first, second] = [new ManualLoad(), new ManualLoad()];
    const waits = [join('k', first), join('k', second), join('k', second)];
    first.land({ name: 'first' });
    expect(await Promise.all(waits)).toEqual([
      { state: 'landed', value: { name: 'first' }, collapsed: false },
      { state: 'landed', value: { name: 'first' }, collapsed: true },
      { state: 'landed', value: { name: 'first' }, collapsed: true },
    ]);
    expect([first.flights.length, second.flights.length]).toEqual([1, 0]);
  });

  test('share within one key only', async () => {
    const [a, b] = [new ManualLoad(), new ManualLoad()];
    const waits = [join('a', a), join('b', b)];
    expect(flights.size).toBe(2);
    b.land({ name: 'b' });
    a.land({ name: 'a' });
    expect((await Promise.all(waits)).map((wait) => wait.state === 'landed' && wait.value.name)).toEqual(['a', 'b']);
    expect(flights.size).toBe(0);
  });

  test('start a new flight once the one before has landed', async () => {
    const [first, second] = [new ManualLoad(), new ManualLoad()];
    const before = join('k', first);
    first.land({ name: 'first' });
    await before;
    const after = join('k', second);
    second.land({ name: 'second' });
    expect(await after).toEqual({ state: 'landed', value: { name: 'second' }, collapsed: false });
  });

  test('are accepted for a second, and then one more flight starts while the first is still under way', async () => {
    const [first, second, third] = [new ManualLoad(), new ManualLoad(), new ManualLoad()];
    const leader = join('k', first);
    await vi.advanceTimersByTimeAsync(COLLAPSE_WINDOW_MS - 1);
    const follower = join('k', third);
    await vi.advanceTimersByTimeAsync(1);
    const nextLeader = join('k', second);
    const nextFollower = join('k', third);
    expect([first, second, third].map((load) => load.flights.length)).toEqual([1, 1, 0]);
    second.land({ name: 'second' });
    expect(await nextLeader).toMatchObject({ value: { name: 'second' }, collapsed: false });
    expect(await nextFollower).toMatchObject({ value: { name: 'second' }, collapsed: true });
    first.land({ name: 'first' });
    expect(await leader).toMatchObject({ value: { name: 'first' }, collapsed: false });
    expect(await follower).toMatchObject({ value: { name: 'first' }, collapsed: true });
  });

  test('of the later flight stay with it when the earlier one lands first', async () => {
    const [first, second] = [new ManualLoad(), new ManualLoad()];
    const older = join('k', first);
    await vi.advanceTimersByTimeAsync(COLLAPSE_WINDOW_MS);
    const younger = join('k', second);
    first.land({ name: 'first' });
    await older;
    const follower = join('k', new ManualLoad());
    second.land({ name: 'second' });
    expect(await younger).toMatchObject({ value: { name: 'second' } });
    expect(await follower).toMatchObject({ value: { name: 'second' }, collapsed: true });
  });
});

describe('a waiter who leaves', () => {
  test('does not harm the others, even as the leader', async () => {
    const load = new ManualLoad();
    const leader = new AbortController();
    const left = join('k', load, leader.signal);
    const follower = join('k', load);
    leader.abort();
    expect(await left).toEqual({ state: 'left', departed: false, collapsed: false });
    expect(load.cancelled).toBe(false);
    load.land({ name: 'whole' });
    expect(await follower).toEqual({ state: 'landed', value: { name: 'whole' }, collapsed: true });
  });

  test('leaves at its own deadline, and the others keep waiting', async () => {
    const load = new ManualLoad();
    const deadlines = [new AbortController(), new AbortController(), new AbortController()];
    const waits = deadlines.map(({ signal }) => join('k', load, signal));
    load.depart();
    deadlines[1]?.abort();
    expect(await waits[1]).toEqual({ state: 'left', departed: true, collapsed: true });
    deadlines[0]?.abort();
    expect(await waits[0]).toEqual({ state: 'left', departed: true, collapsed: false });
    load.land({ name: 'late' });
    expect(await waits[2]).toMatchObject({ state: 'landed', value: { name: 'late' } });
  });

  test('learns that the flight had not departed, even when it had left before it joined', async () => {
    const load = new ManualLoad();
    expect(await join('k', load, AbortSignal.abort())).toEqual({ state: 'left', departed: false, collapsed: false });
    expect(flights.size).toBe(0);
  });

  test('is not asked about any more once it has its value', async () => {
    const load = new ManualLoad();
    const waiter = leavingBy(patient);
    const wait = flights.join('k', waiter, load.run);
    expect(waiter.onEnd).toBeTypeOf('function');
    load.land({ name: 'x' });
    await wait;
    expect(waiter.onEnd).toBeUndefined();
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
  test('is cancelled while it is queued, and the next request starts another', async () => {
    const [first, second] = [new ManualLoad(), new ManualLoad()];
    const waiters = [new AbortController(), new AbortController()];
    const waits = waiters.map(({ signal }) => join('k', first, signal));
    waiters[0]?.abort();
    await settle();
    expect(first.cancelled).toBe(false);
    waiters[1]?.abort();
    await Promise.all(waits);
    expect(first.cancelled).toBe(true);
    const next = join('k', second);
    second.land({ name: 'second' });
    expect(await next).toMatchObject({ value: { name: 'second' }, collapsed: false });
  });

  test('continues to its end once it was sent, and accepts followers meanwhile', async () => {
    const load = new ManualLoad();
    const waiter = new AbortController();
    const left = join('k', load, waiter.signal);
    load.depart();
    waiter.abort();
    await left;
    expect(load.cancelled).toBe(false);
    const follower = join('k', new ManualLoad());
    load.land({ name: 'kept' });
    expect(await follower).toMatchObject({ value: { name: 'kept' }, collapsed: true });
  });

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
