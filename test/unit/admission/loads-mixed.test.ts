import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { capacityOf, expectAllServed, loadOn, PATIENCE_MS, SLOTS, simulateTime, WORKERS } from './loads-on.ts';
import { about, quantile, type SimulatedIndexer, SimulatedLoad } from './simulated-load.ts';

simulateTime();

describe('one operation', () => {
  test.each([
    ['takes 4.8 s', 4800],
    ['hangs forever', 1_000_000],
  ])('that %s, at 26 requests a second, does not harm the two others', async (_, slowMs) => {
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

  test('that gets three times as many requests as the indexer can serve does not harm the others', async () => {
    const load = loadOn(50);
    load.openLoop(3 * capacityOf(50), 6000);
    for (const other of ['adjacentTransactions', 'masterchainBlockShards']) load.openLoop(50, 6000, other);
    await load.run(8000);
    for (const other of ['adjacentTransactions', 'masterchainBlockShards']) expectAllServed(load, other);
  });
});

describe('service times that jump between 3 and 300 ms, separately for each operation', () => {
  const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'];

  /** A load in which each operation's service time is drawn again every 500 ms: 3, 30 or 300 ms. */
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
    'cause no refusals if the indexer alone would serve every request within the patience (%s)',
    async (seed) => {
      const alone = await jumping(seed, 1_000_000);
      const load = await jumping(seed, SLOTS);
      for (const operation of OPERATIONS) {
        expect(Math.max(...alone.of(operation).latencies)).toBeLessThan(PATIENCE_MS);
        expectAllServed(load, operation);
      }
      // More requests than slots at once: otherwise no request would have waited for a slot.
      expect(alone.mostAtIndexer).toBeGreaterThan(SLOTS);
    },
  );
});
