import { describe, expect, test } from 'vitest';
import { PATIENCE_MS, simulateTime } from './loads-on.ts';
import { quantile, SimulatedLoad } from './simulated-load.ts';

simulateTime();

const BLOCKS = 'masterchainBlockShards';
/** Requests a second, with 16 slots and 100 ms per request. */
const CAPACITY = 160;
const sixteenSlots = (serviceMs: number, seed?: string) =>
  new SimulatedLoad({
    indexer: { workers: 1000, serviceMs: () => serviceMs },
    maxConcurrency: 16,
    ...(seed && { seed }),
  });

test.each(['a', 'b'])(
  '25 clients that use three quarters of the slots are served next to one that keeps 100 misses under way (%s)',
  async (seed) => {
    const load = sixteenSlots(500, seed);
    const [clients, capacity] = [25, 32];
    for (let n = 0; n < clients; n++) {
      load.openLoop((0.75 * capacity) / clients, 20_000, BLOCKS, `honest ${n}`, 'honest');
    }
    await load.run(3000);
    load.closedLoop(100, 17_000, BLOCKS, 'greedy');
    await load.run(22_000);
    const { served, refused } = load.of('honest');
    expect(refused).toBeLessThanOrEqual(0.01 * (served + refused));
    expect(load.sentAt.filter((at) => at >= 3000 && at < 20_000).length).toBeGreaterThanOrEqual(0.9 * capacity * 17);
  },
);

describe('one client whose misses take 3 s', () => {
  const serviceMs = (_: string, __: unknown, client = '') => (client === 'slow' ? 3000 : 10);
  const beSlow = (load: SimulatedLoad) => load.closedLoop(100, 15_000, BLOCKS, 'slow');

  test('leaves slots for others that send quick requests for the same operation', async () => {
    const load = new SimulatedLoad({ indexer: { workers: 1000, serviceMs } });
    void load.ask(BLOCKS, 'other 0', 'before');
    beSlow(load);
    await load.run(1000);
    for (let n = 0; n < 5; n++) void load.takingBreaks(400, 12_000, BLOCKS, `other ${n}`, 'others');
    await load.run(12_000);
    expect(load.of('others').refused).toBe(0);
    expect(Math.max(...load.of('others').latencies)).toBeLessThan(100);
    expect(load.slots.inUse).toBe(56);
  });

  test('may use all slots while it is alone', async () => {
    const load = new SimulatedLoad({ indexer: { workers: 1000, serviceMs } });
    beSlow(load);
    await load.run(10_000);
    expect(load.slots.inUse).toBe(64);
  });

  test('may use all slots next to another client if there are fewer than 8', async () => {
    const load = new SimulatedLoad({ indexer: { workers: 1000, serviceMs }, maxConcurrency: 7 });
    void load.ask(BLOCKS, 'other', 'before');
    beSlow(load);
    await load.run(1000);
    expect(load.slots.inUse).toBe(7);
  });

  test('gives slots back to others that come later', async () => {
    const load = new SimulatedLoad({ indexer: { workers: 1000, serviceMs } });
    beSlow(load);
    await load.run(5000);
    for (let n = 0; n < 5; n++) void load.takingBreaks(400, 10_000, BLOCKS, `other ${n}`, 'others');
    await load.run(10_000);
    const { refusedAt, served } = load.of('others');
    // Others may be refused until the slow client's earlier requests have ended, which takes 3 s.
    expect(Math.max(0, ...refusedAt)).toBeLessThan(5000 + 3000 + PATIENCE_MS);
    expect(served).toBeGreaterThan(70);
  });
});

test.each([1, 20, 5000])(
  '5 times the capacity from %i clients: served requests wait for about 100 ms',
  async (addresses) => {
    const load = sixteenSlots(100);
    let asked = 0;
    const [forMs, warmMs] = [8000, 3000];
    for (let at = 0; at < forMs; at += 1000 / (5 * CAPACITY)) {
      setTimeout(() => void load.ask(BLOCKS, `client ${asked++ % addresses}`, at < warmMs ? 'before' : 'load'), at);
    }
    await load.run(forMs + 2000);
    const { latencies, refusalLatencies } = load.of('load');
    expect(latencies.length).toBeGreaterThanOrEqual((0.95 * CAPACITY * (forMs - warmMs)) / 1000);
    expect(quantile(latencies, 0.5)).toBeLessThanOrEqual(220);
    expect(quantile(refusalLatencies, 0.99)).toBeLessThan(10);
  },
);

test('a client that left after 200 requests is served like a new one', async () => {
  const load = sixteenSlots(200);
  for (let n = 0; n < 40; n++) load.closedLoop(1, 10_000, BLOCKS, `other ${n}`, 'others');
  await load.run(1500);
  load.comingAndGoing(1000, 50, 200, BLOCKS, 'comes back');
  await load.run(1000);
  const before = performance.now();
  for (const client of ['comes back', 'new']) void load.ask(BLOCKS, client, client);
  await load.run(2000);
  expect(load.of('comes back').servedAt.at(-1)).toBe(load.of('new').servedAt[0]);
  expect((load.of('new').servedAt[0] ?? 0) - before).toBeLessThan(PATIENCE_MS);
});
