import { describe, expect, test } from 'vitest';
import { mostWithin } from '../../support/sliding-count.ts';
import { simulateTime } from './loads-on.ts';
import { about, quantile, SimulatedLoad, type SimulatedLoadOptions } from './simulated-load.ts';
import { simulatedReservations } from './simulated-redis.ts';

simulateTime();

const BLOCKS = 'masterchainBlockShards';
const ALL = [BLOCKS, 'pendingTraces', 'adjacentTransactions', 'passthrough'];
const POLITE = 5;
const CLIENTS = POLITE + 1;
const FOR_MS = 15_000;
/** The greedy client begins this long before the others come. */
const BEFORE_MS = 2000;

function openLoad(perSecond: number, options: Partial<SimulatedLoadOptions> = {}): SimulatedLoad {
  return new SimulatedLoad({ indexer: { workers: 1000, serviceMs: about(20) }, perSecond, ...options });
}

/** The settings of `config/public-provider.json`. */
const PROVIDER = { maxConcurrency: 4, patienceMs: 3000 };

/** Adds the polite clients: each sends one request at a time, slightly less often than its equal part of the rate. */
function comePolitely(load: SimulatedLoad, perSecond: number, operation = BLOCKS): void {
  const breakMs = (CLIENTS * 1000) / perSecond;
  for (let n = 0; n < POLITE; n++) void load.takingBreaks(breakMs, FOR_MS, operation, `polite ${n}`, 'polite');
}

/**
 * Expects that at most 1 % of the polite requests are refused, that their median wait is at most `CLIENTS + 2` steps,
 * and that the rate is used and not exceeded.
 */
function expectFair(perSecond: number, polite: SimulatedLoad, all: readonly SimulatedLoad[] = [polite]): void {
  const { served, refused, waits } = polite.of('polite');
  expect(served).toBeGreaterThan(POLITE);
  expect(refused).toBeLessThanOrEqual(0.01 * (served + refused));
  expect(quantile(waits, 0.5)).toBeLessThanOrEqual(((CLIENTS + 2) * 1000) / perSecond);
  const sentAt = all.flatMap((load) => load.sentAt).toSorted((a, b) => a - b);
  expect(sentAt.length).toBeGreaterThanOrEqual((0.95 * perSecond * (FOR_MS + BEFORE_MS)) / 1000);
  expect(mostWithin(sentAt, 1000)).toBeLessThanOrEqual(perSecond + 1);
}

type Greedy = (load: SimulatedLoad) => void;

/** The load of one greedy client next to the polite ones. */
const GREEDY: readonly (readonly [string, Greedy])[] = [
  ['keeps 100 misses under way', (load) => load.closedLoop(100, FOR_MS + BEFORE_MS, BLOCKS, 'greedy')],
  [
    'asks for 230 keys a second and leaves each after 30 ms',
    (load) => load.comingAndGoing(230, 30, FOR_MS + BEFORE_MS, BLOCKS, 'greedy'),
  ],
  [
    'keeps 100 passed-through requests under way',
    (load) => load.closedLoop(100, FOR_MS + BEFORE_MS, 'passthrough', 'greedy'),
  ],
  [
    'keeps 50 misses of every operation under way',
    (load) => {
      for (const operation of ALL) load.closedLoop(50, FOR_MS + BEFORE_MS, operation, 'greedy');
    },
  ],
];

describe.each([10, 50])('at %i reservations a second, five polite clients are served next to one that', (perSecond) => {
  test.each(GREEDY)('%s', async (_, beGreedy) => {
    const load = openLoad(perSecond);
    beGreedy(load);
    await load.run(BEFORE_MS);
    comePolitely(load, perSecond);
    await load.run(FOR_MS);
    expectFair(perSecond, load);
  });

  test.each(GREEDY)('%s, on another instance', async (_, beGreedy) => {
    const reserveShared = simulatedReservations(1);
    const loads = [openLoad(perSecond, { reserveShared }), openLoad(perSecond, { reserveShared })] as const;
    beGreedy(loads[0]);
    await loads[0].run(BEFORE_MS);
    comePolitely(loads[1], perSecond);
    await loads[0].run(FOR_MS);
    expectFair(perSecond, loads[1], loads);
  });
});

test.each(GREEDY.slice(0, 3))(
  'with the settings for a public provider, five polite clients are served next to one that %s',
  async (_, beGreedy) => {
    const load = openLoad(10, { ...PROVIDER, indexer: { workers: 1000, serviceMs: about(300) } });
    beGreedy(load);
    await load.run(BEFORE_MS);
    comePolitely(load, 10);
    await load.run(FOR_MS);
    expectFair(10, load);
  },
);

test.each([10, 50])(
  'passed-through requests are served next to a client that requests blocks, at %i reservations a second',
  async (perSecond) => {
    const load = openLoad(perSecond);
    load.closedLoop(100, FOR_MS + BEFORE_MS, BLOCKS, 'greedy');
    await load.run(BEFORE_MS);
    comePolitely(load, perSecond, 'passthrough');
    await load.run(FOR_MS);
    expectFair(perSecond, load);
  },
);

test('clients that sometimes send two requests at the same time do not count as greedy', async () => {
  const load = openLoad(10);
  load.closedLoop(100, FOR_MS + BEFORE_MS, BLOCKS, 'greedy');
  await load.run(BEFORE_MS);
  // Random requests, at half of the equal part of each client.
  for (let n = 0; n < POLITE; n++) load.openLoop((0.5 * 10) / CLIENTS, FOR_MS, BLOCKS, `polite ${n}`, 'polite');
  await load.run(FOR_MS);
  expectFair(10, load);
});

test('when all clients leave, each instance has lost at most one reservation', async () => {
  const reserveShared = simulatedReservations(1);
  const [one, other] = [openLoad(10, { reserveShared }), openLoad(10, { reserveShared })] as const;
  for (const load of [one, other]) load.comingAndGoing(1000, 250, 1000, BLOCKS, 'leaves');
  await one.run(2000);
  const before = [one, other].map(({ sentAt }) => sentAt.length);
  const startedAt = performance.now();
  void one.ask(BLOCKS, 'comes');
  await one.run(1000);
  expect(before.map((count) => count >= 4)).toEqual([true, true]);
  expect((one.sentAt.at(-1) ?? 0) - startedAt).toBeLessThanOrEqual(2 * 100);
});
