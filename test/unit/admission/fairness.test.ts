import { describe, expect, test } from 'vitest';
import { simulateClock } from '../../support/simulated-clock.ts';
import { mostWithin } from '../../support/sliding-count.ts';
import { capacityOf, expectAllServed, loadOn, PATIENCE_MS, simulateTime } from './loads-on.ts';
import { answeredOf, type Became, type Beside, BOUNDS, besideNewcomers, SEEDS } from './newcomers.ts';
import { about, quantile, SimulatedLoad, type SimulatedLoadOptions } from './simulated-load.ts';
import { simulatedReservations } from './simulated-redis.ts';

// Clients that compete for slots or for the rate, on a simulated clock. `test/fault/fairness.test.ts` has the same promise
// from outside, for the order of single requests.

simulateTime();

const BLOCKS = 'masterchainBlockShards';
const OPERATIONS = [BLOCKS, 'pendingTraces', 'adjacentTransactions'];

describe('with a rate, five polite clients are served next to one that', () => {
  const [PER_SECOND, POLITE, CLIENTS] = [10, 5, 6];
  const FOR_MS = 15_000;
  /** The greedy client begins this long before the others come. */
  const BEFORE_MS = 2000;

  const openLoad = (options: Partial<SimulatedLoadOptions> = {}) =>
    new SimulatedLoad({ indexer: { workers: 1000, serviceMs: about(20) }, perSecond: PER_SECOND, ...options });

  /** Adds the polite clients: each sends one request at a time, slightly less often than its equal part of the rate. */
  function comePolitely(load: SimulatedLoad, operation = BLOCKS): void {
    const breakMs = (CLIENTS * 1000) / PER_SECOND;
    for (let n = 0; n < POLITE; n++) void load.takingBreaks(breakMs, FOR_MS, operation, `polite ${n}`, 'polite');
  }

  /**
   * Expects that at most 1 % of the polite requests are refused, that their median wait is at most `CLIENTS + 2` steps,
   * and that the rate is used and not exceeded.
   */
  function expectFair(polite: SimulatedLoad, all: readonly SimulatedLoad[] = [polite]): void {
    const { served, refused, waits } = polite.of('polite');
    expect(served).toBeGreaterThan(POLITE);
    expect(refused).toBeLessThanOrEqual(0.01 * (served + refused));
    expect(quantile(waits, 0.5)).toBeLessThanOrEqual(((CLIENTS + 2) * 1000) / PER_SECOND);
    const sentAt = all.flatMap((load) => load.sentAt).toSorted((a, b) => a - b);
    expect(sentAt.length).toBeGreaterThanOrEqual((0.95 * PER_SECOND * (FOR_MS + BEFORE_MS)) / 1000);
    expect(mostWithin(sentAt, 1000)).toBeLessThanOrEqual(PER_SECOND + 1);
  }

  const keeping100 = (load: SimulatedLoad) => load.closedLoop(100, FOR_MS + BEFORE_MS, BLOCKS, 'greedy');

  test.each<[string, (load: SimulatedLoad) => void]>([
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
        for (const operation of [...OPERATIONS, 'passthrough'])
          load.closedLoop(50, FOR_MS + BEFORE_MS, operation, 'greedy');
      },
    ],
  ])('%s', async (_, beGreedy) => {
    const load = openLoad();
    beGreedy(load);
    await load.run(BEFORE_MS);
    comePolitely(load);
    await load.run(FOR_MS);
    expectFair(load);
  });

  test.each<[string, Partial<SimulatedLoadOptions>, string]>([
    ['if their requests are passed through', {}, 'passthrough'],
    [
      'with the settings for a public provider',
      { maxConcurrency: 4, patienceMs: 3000, indexer: { workers: 1000, serviceMs: about(300) } },
      BLOCKS,
    ],
  ])('keeps 100 misses under way, %s', async (_, options, operation) => {
    const load = openLoad(options);
    keeping100(load);
    await load.run(BEFORE_MS);
    comePolitely(load, operation);
    await load.run(FOR_MS);
    expectFair(load);
  });

  test('keeps 100 misses under way on another instance', async () => {
    const reserveShared = simulatedReservations(1);
    const [other, own] = [openLoad({ reserveShared }), openLoad({ reserveShared })] as const;
    keeping100(other);
    await other.run(BEFORE_MS);
    comePolitely(own);
    await other.run(FOR_MS);
    expectFair(own, [other, own]);
  });

  test('keeps 100 misses under way, even if they sometimes send two requests at the same time', async () => {
    const load = openLoad();
    keeping100(load);
    await load.run(BEFORE_MS);
    // Random requests, at half of the equal part of each client.
    const each = (0.5 * PER_SECOND) / CLIENTS;
    for (let n = 0; n < POLITE; n++) load.openLoop(each, FOR_MS, BLOCKS, `polite ${n}`, 'polite');
    await load.run(FOR_MS);
    expectFair(load);
  });

  test('has waiting requests for every operation, after one reservation of the greedy client at most', async () => {
    const load = openLoad();
    for (const operation of [...OPERATIONS, 'passthrough']) load.closedLoop(3, FOR_MS + BEFORE_MS, operation, 'greedy');
    await load.run(BEFORE_MS);
    comePolitely(load);
    await load.run(FOR_MS);
    const { refused, waits } = load.of('polite');
    expect(refused).toBe(0);
    // Its own reservation, and one of each other client.
    expect(Math.max(...waits)).toBeLessThanOrEqual((CLIENTS * 1000) / PER_SECOND);
  });
});

describe('with slots', () => {
  test('25 clients that use three quarters of them are served next to one that keeps 100 misses under way', async () => {
    const load = new SimulatedLoad({ indexer: { workers: 1000, serviceMs: () => 500 }, maxConcurrency: 16 });
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
  });

  test.each<[string, (load: SimulatedLoad, operation: string) => void]>([
    [
      'requests for 5 times the capacity',
      (load, operation) => load.openLoop((5 * capacityOf(50)) / 3, 10_000, operation),
    ],
    ['300 connections', (load, operation) => load.closedLoop(100, 10_000, operation)],
  ])('20 clients that each send one request a second are served next to one with %s', async (_, askForMuch) => {
    const load = loadOn(50);
    for (const operation of OPERATIONS) {
      askForMuch(load, operation);
      for (let n = 0; n < 20; n++) load.openLoop(1 / 3, 10_000, operation, `polite ${n}`, 'polite');
    }
    await load.run(10_000);
    const { served, refused, latencies } = load.of('polite');
    expect(refused).toBeLessThanOrEqual(0.01 * served);
    expect(quantile(latencies, 0.99)).toBeLessThan(300);
  });

  test('a client whose misses take 3 s leaves slots for others that send quick requests for its operation', async () => {
    const load = withSlowClient();
    void load.ask(BLOCKS, 'other 0', 'before');
    beSlow(load);
    await load.run(1000);
    for (let n = 0; n < 5; n++) void load.takingBreaks(400, 12_000, BLOCKS, `other ${n}`, 'others');
    await load.run(12_000);
    expect(load.of('others').refused).toBe(0);
    expect(Math.max(...load.of('others').latencies)).toBeLessThan(100);
    expect(load.slots.inUse).toBe(56);
  });

  test.each([
    ['while it is alone', {}, 64],
    ['next to another client if there are fewer than 8', { maxConcurrency: 7 }, 7],
  ])('a client whose misses take 3 s may use all slots %s', async (_, options, slots) => {
    const load = withSlowClient(options);
    if (slots < 8) void load.ask(BLOCKS, 'other', 'before');
    beSlow(load);
    await load.run(10_000);
    expect(load.slots.inUse).toBe(slots);
  });

  test('a client whose misses take 3 s gives slots back to others that come later', async () => {
    const load = withSlowClient();
    beSlow(load);
    await load.run(5000);
    for (let n = 0; n < 5; n++) void load.takingBreaks(400, 10_000, BLOCKS, `other ${n}`, 'others');
    await load.run(10_000);
    const { refusedAt, served } = load.of('others');
    // Others may be refused until the slow client's earlier requests have ended, which takes 3 s.
    expect(Math.max(0, ...refusedAt)).toBeLessThan(5000 + 3000 + PATIENCE_MS);
    expect(served).toBeGreaterThan(70);
  });

  const withSlowClient = (options: Partial<SimulatedLoadOptions> = {}) => {
    const serviceMs = (_: string, __: unknown, client = '') => (client === 'slow' ? 3000 : 10);
    return new SimulatedLoad({ indexer: { workers: 1000, serviceMs }, ...options });
  };
  const beSlow = (load: SimulatedLoad) => load.closedLoop(100, 15_000, BLOCKS, 'slow');
});

describe.each(['rate', 'slots'] as const)('with more requests than a limit of 20 a second by %s', (bound) => {
  /** Runs the simulation once with each seed; returns the results. */
  async function withEachSeed(beside: Omit<Beside, 'seed' | 'seconds' | 'bound'>): Promise<Became[]> {
    const all: Became[] = [];
    for (const seed of SEEDS) {
      simulateClock();
      all.push(await besideNewcomers({ ...beside, bound, seconds: 100, seed }));
    }
    return all;
  }

  const answered = (all: readonly Became[], who: 'newcomers' | 'returning' | 'pages') =>
    answeredOf(all.map((became) => became[who]));

  test('returning clients are served about as often as new ones', async () => {
    const all = await withEachSeed({ returning: true });
    expect(answered(all, 'newcomers')).toBeLessThan(0.75);
    expect(answered(all, 'returning')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test('the requests of pages with two requests are served about as often as those of new clients', async () => {
    const all = await withEachSeed({ pages: true });
    expect(answered(all, 'pages')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test('one client with 50 connections sends at most a seventh of the requests; others are served about equally', async () => {
    const all = await withEachSeed({ returning: true, connections: 50 });
    for (const { greedy, turns } of all) expect(greedy.served).toBeLessThanOrEqual(turns / 7);
    expect(answered(all, 'newcomers')).toBeGreaterThan(0.5);
    expect(answered(all, 'returning')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test('6 clients that each keep 4 requests under way are served about equally often', async () => {
    const load = new SimulatedLoad(BOUNDS[bound]);
    const names = Array.from({ length: 6 }, (_, n) => `client ${n}`);
    for (const name of names) load.closedLoop(4, 60_000, BLOCKS, name, name);
    await load.run(60_000);
    const served = names.map((name) => load.of(name).served);
    expect(Math.min(...served)).toBeGreaterThanOrEqual(0.9 * Math.max(...served));
    expectAllServed(load, names[0]);
  });

  test('three quarters of the requests of occasional clients are served next to 40 clients that always wait', async () => {
    const load = new SimulatedLoad(BOUNDS[bound]);
    for (let n = 0; n < 40; n++) load.closedLoop(3, 60_000, BLOCKS, `waits ${n}`, 'wait');
    for (let n = 0; n < 5; n++) void load.takingBreaks(1900 + 40 * n, 60_000, BLOCKS, `polite ${n}`, 'polite');
    await load.run(60_000);
    expect(answeredOf([load.of('polite')])).toBeGreaterThanOrEqual(0.75);
  });
});
