import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SeededRandom } from '../../../src/simulator/seeded-random.ts';
import { about, quantile, type SimulatedIndexer, SimulatedLoad } from '../../support/simulated-load.ts';

const WORKERS = 20;
/** Slots as shipped. */
const SLOTS = 64;
/** As shipped. */
const PATIENCE_MS = 1500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Answers a second that an indexer gives at most. */
const capacityOf = (serviceMs: number) => (WORKERS * 1000) / serviceMs;

function loadOn(serviceMs: number, seed = 'load'): SimulatedLoad {
  return new SimulatedLoad({ indexer: { workers: WORKERS, serviceMs: about(serviceMs) }, seed });
}

/** Everybody who came was served. */
function expectAllServed(load: SimulatedLoad, operation?: string): void {
  const { refused, timedOut, served } = load.of(operation);
  expect({ refused, timedOut, isServed: served > 0 }).toEqual({ refused: 0, timedOut: 0, isServed: true });
}

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
  describe.each([20, 50])('an indexer that takes %i ms', (serviceMs) => {
    const capacity = capacityOf(serviceMs);

    async function prepared(): Promise<SimulatedLoad> {
      const load = loadOn(serviceMs);
      await prepare(load, capacity);
      load.counts.clear();
      return load;
    }

    test.each([50, 200, capacity])('serves a burst of %i, whole and in the time that its work takes', async (count) => {
      const load = await prepared();
      load.burst(count);
      await load.run(2000);
      expectAllServed(load);
      expect(load.of().served).toBe(count);
      const workMs = (count * 1000) / capacity;
      expect(Math.max(...load.of().latencies)).toBeLessThanOrEqual(1.2 * workMs + 2 * serviceMs);
    });

    test.each([30, 100, 300])(
      'is kept busy by %i clients that each ask again at once, and serves them all',
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

describe('pages', () => {
  test.each([
    ['40 requests every 400 ms, the indexer answers 700 a second', 14, 20, 40, 400],
    ['30 requests every 250 ms, the indexer takes 50 ms', 20, 50, 30, 250],
  ])('are served whole: %s', async (_, workers, serviceMs, count, everyMs) => {
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

describe('more than the indexer can take', () => {
  test.each([20, 50])('by a tenth, for 8 s, is served whole at %i ms', async (serviceMs) => {
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
    '%i times as much: it is kept busy at %i ms, and the others are refused as they come',
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

  test.each(['a', 'b', 'c', 'd'])(
    'hardly anybody is let in by a wrong estimate and gives up later (%s)',
    async (seed) => {
      const load = loadOn(50, seed);
      load.openLoop(5 * capacityOf(50), 4000);
      await load.run(4000);
      const { refusalLatencies, refusedAt } = load.of();
      const lateAt = refusedAt.filter((_, index) => (refusalLatencies[index] ?? 0) >= 1);
      expect(lateAt.length).toBeLessThanOrEqual(0.005 * refusedAt.length);
      // It was let in while the rate had been measured for 100 ms alone.
      expect(Math.max(0, ...lateAt) - (performance.now() - 4000)).toBeLessThan(2 * PATIENCE_MS);
    },
  );

  test('by clients that come again each 100 ms keeps it busy, and leaves nothing behind 3 s later', async () => {
    const load = loadOn(50);
    load.closedLoop(2000, 4000);
    await load.run(4000);
    expect(load.of().refused).toBeGreaterThan(10_000);
    expect(load.of().served).toBeGreaterThanOrEqual(0.95 * 4 * capacityOf(50));
    await load.run(3000);
    expect([load.admission.waiting, load.admission.slotsInUse]).toEqual([0, 0]);
    load.counts.clear();
    load.openLoop(0.9 * capacityOf(50), 4000);
    await load.run(5000);
    expectAllServed(load);
  });

  test.each([20, 50])('for 3 s, and then half of it: that is served whole at %i ms', async (serviceMs) => {
    const load = loadOn(serviceMs);
    load.openLoop(5 * capacityOf(serviceMs), 3000);
    await load.run(3000);
    load.counts.clear();
    const spikeEndedAt = performance.now();
    load.openLoop(0.5 * capacityOf(serviceMs), 4000);
    await load.run(5000);
    // The backlog is what keeps the indexer busy for 100 ms: until it is gone newcomers have no more patience than that.
    expect(load.of().refusedAt.filter((at) => at > spikeEndedAt + 200)).toEqual([]);
    expect(load.of().refused).toBeLessThanOrEqual(0.01 * load.of().served);
  });
});

describe('one operation', () => {
  test.each([
    ['takes 4.8 s', 4800],
    ['hangs for good', 1_000_000],
  ])('that %s, 26 times a second, leaves the two others as they are', async (_, slowMs) => {
    const load = new SimulatedLoad({
      indexer: {
        workers: WORKERS,
        serviceMs: (operation, random) => (operation === 'pendingTraces' ? slowMs : about(25)(operation, random)),
        apart: ['pendingTraces'],
      },
    });
    const others = ['adjacentTransactions', 'masterchainBlockShards'];
    load.openLoop(26, 30_000);
    for (const other of others) load.openLoop(20, 30_000, other);
    await load.run(31_000);
    for (const other of others) {
      expectAllServed(load, other);
      expect(quantile(load.of(other).latencies, 0.99)).toBeLessThan(50);
    }
    expect(load.of('pendingTraces').refused).toBeGreaterThan(0);
  });

  test('that is asked for three times as much as the indexer can take leaves the others as they are', async () => {
    const load = loadOn(50);
    load.openLoop(3 * capacityOf(50), 6000);
    for (const other of ['adjacentTransactions', 'masterchainBlockShards']) load.openLoop(50, 6000, other);
    await load.run(8000);
    for (const other of ['adjacentTransactions', 'masterchainBlockShards']) expectAllServed(load, other);
  });
});

describe('refreshes that starve behind misses', () => {
  test('make no miss be refused', async () => {
    const load = loadOn(20);
    let refusedRefreshes = 0;
    const refresh = async () => {
      if (!(await load.ask('pendingTraces', 'refresh'))) refusedRefreshes++;
    };
    for (let n = 0; n < 200; n++) setTimeout(() => void refresh(), n * 20);
    load.closedLoop(300, 4000);
    await load.run(4000);
    const { served, refused } = load.of();
    expect(refusedRefreshes).toBeGreaterThan(0);
    expect(refused).toBe(refusedRefreshes);
    expect(served).toBeGreaterThanOrEqual(0.95 * 4 * capacityOf(20));
  });
});

describe('latencies that jump by operation between 3 and 300 ms', () => {
  const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'];

  /** Each operation takes another of these times every 500 ms. */
  async function jumping(seed: string, maxConcurrency: number): Promise<SimulatedLoad> {
    const means = new Map(OPERATIONS.map((operation) => [operation, 3]));
    const serviceMs: SimulatedIndexer['serviceMs'] = (operation, random) =>
      about(means.get(operation) ?? 3)(operation, random);
    const load = new SimulatedLoad({ indexer: { workers: WORKERS, serviceMs }, maxConcurrency, seed });
    for (const operation of OPERATIONS) load.openLoop(50, 20_000, operation);
    const random = new SeededRandom(seed, 'jumps');
    for (let n = 0; n < 44; n++) {
      for (const operation of OPERATIONS) means.set(operation, random.pick([3, 30, 300]));
      await load.run(500);
    }
    return load;
  }

  test.each(['a', 'b', 'c'])(
    'refuse nobody whom the indexer alone would serve within the patience (%s)',
    async (seed) => {
      const alone = await jumping(seed, 1_000_000);
      const load = await jumping(seed, SLOTS);
      for (const operation of OPERATIONS) {
        expect(Math.max(...alone.of(operation).latencies)).toBeLessThan(PATIENCE_MS);
        expectAllServed(load, operation);
      }
      // There was something to wait for.
      expect(alone.mostAtIndexer).toBeGreaterThan(SLOTS);
    },
  );
});
