import { describe, expect, test } from 'vitest';
import { simulateClock } from '../../support/simulated-clock.ts';
import { expectAllServed, simulateTime } from './loads-on.ts';
import { answeredOf, type Became, type Beside, BOUNDS, besideNewcomers, SEEDS } from './newcomers.ts';
import { SimulatedLoad } from './simulated-load.ts';

simulateTime();

const OPERATION = 'masterchainBlockShards';

/** Runs the simulation once with each seed; returns the results. */
async function withEachSeed(beside: Omit<Beside, 'seed' | 'seconds'>): Promise<Became[]> {
  const all: Became[] = [];
  for (const seed of SEEDS) {
    simulateClock();
    all.push(await besideNewcomers({ ...beside, seconds: 100, seed }));
  }
  return all;
}

const answered = (all: readonly Became[], who: 'newcomers' | 'returning' | 'pages') =>
  answeredOf(all.map((became) => became[who]));

describe.each(['rate', 'slots'] as const)('with more requests than a limit of 20 a second by %s', (bound) => {
  test('returning clients are served about as often as new ones', async () => {
    const all = await withEachSeed({ bound, returning: true });
    expect(answered(all, 'newcomers')).toBeLessThan(0.75);
    expect(answered(all, 'returning')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test('the requests of pages with two requests are served about as often as those of new clients', async () => {
    const all = await withEachSeed({ bound, pages: true });
    expect(answered(all, 'pages')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test('one client with 50 connections sends at most a seventh of the requests; others are served about equally', async () => {
    const all = await withEachSeed({ bound, returning: true, connections: 50 });
    for (const { greedy, turns } of all) expect(greedy.served).toBeLessThanOrEqual(turns / 7);
    expect(answered(all, 'newcomers')).toBeGreaterThan(0.5);
    expect(answered(all, 'returning')).toBeGreaterThanOrEqual(0.9 * answered(all, 'newcomers'));
  });

  test.each([
    [12, 2],
    [6, 4],
  ])('%i clients that each keep %i requests under way are served about equally often', async (clients, requests) => {
    const load = new SimulatedLoad(BOUNDS[bound]);
    const names = Array.from({ length: clients }, (_, n) => `client ${n}`);
    for (const name of names) load.closedLoop(requests, 60_000, OPERATION, name, name);
    await load.run(60_000);
    const served = names.map((name) => load.of(name).served);
    expect(Math.min(...served)).toBeGreaterThanOrEqual(0.9 * Math.max(...served));
    expectAllServed(load, names[0]);
  });

  test('three quarters of the requests of occasional clients are served next to 40 clients that always wait', async () => {
    const load = new SimulatedLoad(BOUNDS[bound]);
    for (let n = 0; n < 40; n++) load.closedLoop(3, 60_000, OPERATION, `waits ${n}`, 'wait');
    for (let n = 0; n < 5; n++) void load.takingBreaks(1900 + 40 * n, 60_000, OPERATION, `polite ${n}`, 'polite');
    await load.run(60_000);
    expect(answeredOf([load.of('polite')])).toBeGreaterThanOrEqual(0.75);
  });
});
