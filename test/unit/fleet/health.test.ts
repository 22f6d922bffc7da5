import { beforeEach, expect, test } from 'vitest';
import { Health } from '../../../src/fleet/health.ts';
import type { Outcome } from '../../../src/outcomes.ts';

let now: number;
let health: Health;

beforeEach(() => {
  now = 0;
  health = new Health(
    () => now,
    () => {},
  );
});

/** Sends a request that is answered after `ms`. */
function took(ms: number): void {
  const end = health.begin();
  now += ms;
  end('answered');
}

test('the load is the longest request time of the last seconds, times the number of requests under way plus one', () => {
  expect(health.loadMs).toBe(0);
  took(100);
  took(20);
  expect(health.loadMs).toBeGreaterThan(95);
  const ends = [health.begin(), health.begin()];
  expect(health.loadMs).toBeGreaterThan(3 * 95);
  for (const end of ends) end('answered');
});

test('the load includes the age of a request under way, so an indexer that hangs is avoided before it answers', () => {
  health.begin();
  expect(health.loadMs).toBe(0);
  now += 300;
  expect(health.loadMs).toBe(600);
});

test('a peak of the load decays with time, even without requests', () => {
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
])('an indexer after three requests that end with %s is healthy: %s', (outcome, isHealthy) => {
  for (let request = 0; request < 3; request++) health.begin()(outcome);
  expect([health.isHealthy, health.isFailing]).toEqual([isHealthy, !isHealthy]);
});

test('a request that was never sent does not change the load', () => {
  const end = health.begin();
  now += 500;
  end('unknown');
  expect(health.loadMs).toBe(0);
});
