import { describe, expect, test } from 'vitest';
import { delayedBurst } from './delayed-burst.ts';
import { capacityOf, expectAllServed, loadOn, PATIENCE_MS, SLOTS, simulateTime, WORKERS } from './loads-on.ts';
import { about, quantile, SimulatedLoad } from './simulated-load.ts';

simulateTime();

const SITUATIONS: readonly (readonly [string, (load: SimulatedLoad, capacity: number) => Promise<void>])[] = [
  ['right after a start', async () => {}],
  [
    'after a minute without requests',
    async (load) => {
      load.burst(5);
      await load.run(60_000);
    },
  ],
  [
    '2 s after the indexer hung for 10 s',
    async (load, capacity) => {
      load.openLoop(capacity / 4, 13_000);
      await load.run(1000);
      load.indexer.workers = 0;
      await load.run(10_000);
      expect(load.of().refused).toBeGreaterThan(0);
      load.indexer.workers = WORKERS;
      await load.run(2000);
    },
  ],
];

describe.each(SITUATIONS)('%s', (_, prepare) => {
  describe.each([20, 50])('an indexer that takes %i ms per request', (serviceMs) => {
    const capacity = capacityOf(serviceMs);

    async function prepared(): Promise<SimulatedLoad> {
      const load = loadOn(serviceMs);
      await prepare(load, capacity);
      load.counts.clear();
      return load;
    }

    test.each([50, 200, capacity])(
      'serves a burst of %i requests completely, in about the time of the work itself',
      async (count) => {
        const load = await prepared();
        load.burst(count);
        await load.run(2000);
        expectAllServed(load);
        expect(load.of().served).toBe(count);
        const workMs = (count * 1000) / capacity;
        expect(Math.max(...load.of().latencies)).toBeLessThanOrEqual(1.2 * workMs + 2 * serviceMs);
      },
    );

    test.each([30, 100, 300])(
      'is kept busy by %i connections in a closed loop, and serves all requests',
      async (clients) => {
        const load = await prepared();
        load.closedLoop(clients, 2000);
        await load.run(2000);
        const { served } = load.of();
        await load.run(1000);
        expectAllServed(load);
        expect(served).toBeGreaterThanOrEqual(0.95 * 2 * capacity);
      },
    );
  });
});

describe('pages that send many requests at the same time', () => {
  test.each([
    ['40 requests every 400 ms, with an indexer that answers 700 a second', 14, 20, 40, 400],
    ['30 requests every 250 ms, with an indexer that takes 50 ms per request', 20, 50, 30, 250],
  ])('are served completely: %s', async (_, workers, serviceMs, count, everyMs) => {
    const load = new SimulatedLoad({ indexer: { workers, serviceMs: about(serviceMs) } });
    for (let page = 0; page < 20; page++) {
      load.burst(count);
      await load.run(everyMs);
    }
    expectAllServed(load);
    expect(load.of().served).toBe(20 * count);
    expect(quantile(load.of().latencies, 0.99)).toBeLessThan(everyMs / 2);
  });
});

describe('load above the capacity', () => {
  test.each([20, 50])('by a tenth, for 8 s, is served completely (%i ms per request)', async (serviceMs) => {
    const load = loadOn(serviceMs);
    load.openLoop(1.1 * capacityOf(serviceMs), 8000);
    await load.run(10_000);
    expectAllServed(load);
  });

  test.each([
    [5, 20, 4000, 0.95],
    [5, 50, 6000, 0.95],
    [10, 20, 4000, 0.9],
    [10, 50, 4000, 0.9],
  ])(
    '%i times as much keeps the indexer busy (%i ms per request), and the excess is refused on arrival',
    async (times, serviceMs, forMs, part) => {
      const load = loadOn(serviceMs);
      load.openLoop(times * capacityOf(serviceMs), forMs);
      await load.run(forMs);
      const { served, timedOut, refused, refusalLatencies, latencies } = load.of();
      expect(served).toBeGreaterThanOrEqual((part * capacityOf(serviceMs) * forMs) / 1000);
      expect(timedOut).toBe(0);
      expect(load.mostAtIndexer).toBeLessThanOrEqual(SLOTS);
      expect([refused > 0, refusalLatencies.filter((ms) => ms >= 1)]).toEqual([true, []]);
      expect(quantile(latencies.slice(-1000), 0.5)).toBeLessThan(100 + (SLOTS / WORKERS + 1.3) * serviceMs);
    },
  );

  test.each(['a', 'b', 'c', 'd'])('is refused on arrival: hardly any refused request has waited (%s)', async (seed) => {
    const load = loadOn(50, seed);
    load.openLoop(5 * capacityOf(50), 4000);
    await load.run(4000);
    const { refusalLatencies, refusedAt } = load.of();
    const overdueAt = refusedAt.filter((_, index) => (refusalLatencies[index] ?? 0) >= 1);
    expect(overdueAt.length).toBeLessThanOrEqual(0.005 * refusedAt.length);
    // These requests waited for the whole patience: they were admitted within the first patience, by an early
    // estimate.
    expect(Math.max(0, ...overdueAt) - (performance.now() - 4000)).toBeLessThan(2 * PATIENCE_MS);
  });

  test.each(['a', 'b'])(
    'from operations that share the slots, after 2 s of low load, is refused on arrival (%s)',
    async (seed) => {
      const load = loadOn(50, seed);
      const offer = async (times: number, forMs: number) => {
        for (const operation of ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards']) {
          load.openLoop((times * capacityOf(50)) / 3, forMs, operation);
        }
        await load.run(forMs);
      };
      await offer(5, 4000);
      await offer(0.5, 2000);
      load.counts.clear();
      await offer(5, 6000);
      const { refusalLatencies } = load.of();
      expect(quantile(refusalLatencies, 0.99)).toBeLessThan(1);
    },
  );

  test('by connections that retry 100 ms after a refusal keeps the indexer busy, and has no effect 3 s later', async () => {
    const load = loadOn(50);
    load.closedLoop(2000, 4000);
    await load.run(4000);
    expect(load.of().refused).toBeGreaterThan(10_000);
    expect(load.of().served).toBeGreaterThanOrEqual(0.95 * 4 * capacityOf(50));
    await load.run(3000);
    expect([load.admission.waiting, load.slots.inUse]).toEqual([0, 0]);
    load.counts.clear();
    load.openLoop(0.9 * capacityOf(50), 4000);
    await load.run(5000);
    expectAllServed(load);
  });

  test.each([20, 50])(
    'for 3 s, then half of the capacity: refusals end within 200 ms (%i ms per request)',
    async (serviceMs) => {
      const load = loadOn(serviceMs);
      load.openLoop(5 * capacityOf(serviceMs), 3000);
      await load.run(3000);
      load.counts.clear();
      const spikeEndedAt = performance.now();
      load.openLoop(0.5 * capacityOf(serviceMs), 4000);
      await load.run(5000);
      // The backlog holds work for about 100 ms. Until it is empty, new requests have the short patience of 100 ms.
      expect(load.of().refusedAt.filter((at) => at > spikeEndedAt + 200)).toEqual([]);
      expect(load.of().refused).toBeLessThanOrEqual(0.01 * load.of().served);
    },
  );
});

test('a burst that ends within the patience is served completely even if the event loop is delayed', async () => {
  for (let n = 0; n < 100; n++) {
    const { refused, served, lastedMs } = await delayedBurst(`burst ${n}`);
    expect([refused, served]).toEqual([0, 800]);
    expect(lastedMs).toBeLessThan(PATIENCE_MS);
  }
});
