import { beforeEach, expect, test } from 'vitest';
import { Breaker } from '../../../src/admission/breaker.ts';
import type { Outcome } from '../../../src/admission/outcome.ts';

const OPEN_MS = 2000;

let now = 0;
/** Breakers that report to each other, as those of the operations do. */
let all: readonly [Breaker, Breaker, Breaker];
let opened = 0;

function newBreaker(): Breaker {
  const options = {
    failureRate: 0.5,
    minimumThroughput: 20,
    windowMs: 10_000,
    openMs: OPEN_MS,
    longestOpenMs: 30_000,
  };
  const onUnreachable = (key: string) => {
    for (const each of all) each.count(key, 'unreachable');
  };
  return new Breaker({ now: () => now, random: () => 0, onTransition: () => opened++, onUnreachable }, options);
}

beforeEach(() => {
  now = 0;
  opened = 0;
  all = [newBreaker(), newBreaker(), newBreaker()];
});

/** Requests of an operation that end so, each for a key that no other has. */
function requests(times: number, outcome: Outcome, operation: 0 | 1 | 2): void {
  for (let n = 0; n < times; n++) all[operation].admit(`${outcome} ${operation} ${n}`)?.end(outcome);
}

const areOpen = () => all.map(({ isOpen }) => isOpen);

test('a request that found no connection counts once as a failure of each operation', () => {
  requests(10, 'unreachable', 0);
  requests(9, 'unreachable', 1);
  expect(areOpen()).toEqual([false, false, false]);
  requests(1, 'unreachable', 2);
  expect([...areOpen(), opened]).toEqual([true, true, true, 3]);
});

test('a trial that found no connection counts for the other operations', () => {
  requests(20, 'server-error', 0);
  requests(10, 'unreachable', 1);
  requests(9, 'server-error', 2);
  expect(areOpen()).toEqual([true, false, false]);
  now = OPEN_MS;
  all[0].admit('fresh')?.end('unreachable');
  expect([...areOpen(), all[0].retryAfterMs]).toEqual([true, false, true, 2 * OPEN_MS]);
});

test('a key that cannot be reached counts once for each operation, however often it is requested', () => {
  for (let n = 0; n < 100; n++) all[0].admit('the broken one')?.end('unreachable');
  expect(opened).toBe(0);
});
