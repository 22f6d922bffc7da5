import { beforeEach, expect, test } from 'vitest';
import { Health } from '../../../src/fleet/health.ts';
import type { Outcome } from '../../../src/outcomes.ts';

let now: number;
let health: Health;

beforeEach(() => {
  now = 0;
  health = new Health({ now: () => now, onTransition: () => {} });
});

/** One request that takes so long. */
function took(ms: number): void {
  const end = health.begin();
  now += ms;
  end('answered');
}

test('the load is the longest time of the last seconds, for each request under way and one more', () => {
  expect(health.loadMs).toBe(0);
  took(100);
  took(20);
  expect(health.loadMs).toBeGreaterThan(95);
  const ends = [health.begin(), health.begin()];
  expect(health.loadMs).toBeGreaterThan(3 * 95);
  for (const end of ends) end('answered');
});

test('the age of a request under way counts: one that hangs is left before anything is answered', () => {
  health.begin();
  expect(health.loadMs).toBe(0);
  now += 300;
  expect(health.loadMs).toBe(600);
});

test('a peak is forgotten with time, whether requests come or not', () => {
  took(1000);
  now += 30_000;
  expect(health.loadMs).toBeLessThan(60);
});

test.each<[Outcome, boolean]>([
  ['refused-key', false],
  ['redirect', false],
  ['broken', false],
  ['unreachable', false],
  ['failed', false],
  ['invalid', false],
  ['timeout', false],
  ['answered', true],
  ['absent', true],
  ['client-error', true],
  ['too-large', true],
  ['not-served', true],
  ['rate-limited', true],
])('after three requests that end with %s it is healthy: %s', (outcome, isHealthy) => {
  for (let request = 0; request < 3; request++) health.begin()(outcome);
  expect([health.isHealthy, health.isFailing]).toEqual([isHealthy, !isHealthy]);
});

test('a request that was never sent shows nothing', () => {
  const end = health.begin();
  now += 500;
  end('unknown');
  expect(health.loadMs).toBe(0);
});
