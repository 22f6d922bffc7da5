import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { about, SimulatedLoad } from './simulated-load.ts';

const MINUTES = 10;
const WORKERS = 20;
const SLOTS = 64;
const MEAN_MS: Readonly<Record<string, number>> = {
  pendingTraces: 60,
  adjacentTransactions: 30,
  masterchainBlockShards: 10,
};
const OPERATIONS = Object.keys(MEAN_MS);
const OUTAGE_MS = 10_000;
/** How long requests may be refused after an outage. */
const RECOVERY_MS = 2000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Some requests that take the indexer this part of a second. */
function work(load: SimulatedLoad, operation: string, part: number): void {
  load.burst(Math.floor((part * WORKERS * 1000) / (MEAN_MS[operation] ?? 1)), operation);
}

type Kind = 'steady' | 'pages' | 'bursts' | 'closed loops' | 'idle' | 'outage';

/** A minute of one kind of load; the outage, where there was one. */
async function minute(load: SimulatedLoad, kind: Kind, random: SeededRandom): Promise<[number, number] | undefined> {
  const endsAt = performance.now() + 60_000;
  const rest = () => load.run(Math.max(0, endsAt - performance.now()));
  const steadily = (perSecond: number) => {
    for (const operation of OPERATIONS) load.openLoop(perSecond, 55_000, operation);
  };
  if (kind === 'steady') steadily(120);
  if (kind === 'closed loops') for (const operation of OPERATIONS) load.closedLoop(30, 20_000, operation);
  if (kind === 'idle') load.burst(3);
  if (kind === 'pages' || kind === 'bursts') {
    while (performance.now() < endsAt - 5000) {
      work(load, random.pick(OPERATIONS), kind === 'pages' ? 0.2 : 0.8);
      await load.run(kind === 'pages' ? 400 : 2000);
    }
  }
  if (kind !== 'outage') {
    await rest();
    return undefined;
  }
  steadily(60);
  await load.run(10_000);
  const begunAt = performance.now();
  load.indexer.workers = 0;
  await load.run(OUTAGE_MS);
  load.indexer.workers = WORKERS;
  await rest();
  return [begunAt, begunAt + OUTAGE_MS + RECOVERY_MS];
}

test.each(['a', 'b', 'c'])(
  'in ten minutes of mixed load within the capacity requests are refused only in an outage and for 2 s after it (%s)',
  async (seed) => {
    const random = new SeededRandom(seed);
    const serviceMs = (operation: string, chance: SeededRandom) => about(MEAN_MS[operation] ?? 1)(operation, chance);
    const load = new SimulatedLoad({ indexer: { workers: WORKERS, serviceMs }, seed });
    const outages: [number, number][] = [];
    const kinds: readonly Kind[] = ['steady', 'pages', 'bursts', 'closed loops', 'idle', 'outage'];
    for (let n = 0; n < MINUTES; n++) {
      const outage = await minute(load, kinds[n] ?? random.pick(kinds), random);
      if (outage !== undefined) outages.push(outage);
    }
    const isInOutage = (at: number) => outages.some(([from, to]) => at >= from && at <= to);
    for (const operation of OPERATIONS) {
      const { refusedAt, timedOut, served } = load.of(operation);
      expect(refusedAt.filter((at) => !isInOutage(at))).toEqual([]);
      expect(refusedAt.length).toBeGreaterThan(0);
      expect(served).toBeGreaterThan(10_000);
      expect(timedOut).toBeLessThanOrEqual(outages.length * SLOTS);
    }
    expect([load.admission.slotsInUse, load.admission.waiting, load.admission.inFlight]).toEqual([0, 0, 0]);
  },
);
