import { describe, expect, it, vi } from 'vitest';
import { failure, overloaded } from '../../../src/errors.ts';
import { EventHub } from '../../../src/event-hub.ts';
import { type NumberSources, readNumbers } from '../../../src/operate/status/numbers.ts';
import { quantileOf } from '../../../src/operate/status/quantile.ts';
import { TellingWorld } from './telling-world.ts';

/** The numbers of a page over what a test counts. The cast: the rest of the proxy is not there. */
function start() {
  const world = new TellingWorld();
  const { counted } = world;
  const closed = { breaker: { isClosed: true } };
  const open = new Map([['pendingTraces', { breaker: { isClosed: false, state: 'open' } }]]);
  const halfOpen = new Map([['blocks', { breaker: { isClosed: false, state: 'half-open' } }]]);
  const indexer = (name: string, more: object = {}) => ({
    name,
    head: { highestBlock: 7, lastWord: { ageMs: 1500 }, fault: undefined },
    polls: { isUnresponsive: false },
    route: { isBackup: false, index: 0, slots: { max: 64, inUse: 3 }, health: { isHealthy: true, peakMs: 250 } },
    pause: closed,
    breakers: new Map(),
    notServed: new Map(),
    ...more,
  });
  const heads = { lag: () => 4, isBehind: () => false };
  const all = [
    indexer('a', { breakers: open, pause: { breaker: { isClosed: false } } }),
    indexer('b', { notServed: open, breakers: halfOpen }),
    indexer('c', { head: { highestBlock: 7, lastWord: { ageMs: 1500, sameForMs: 120_001 }, fault: undefined } }),
  ];
  const sources = {
    counted,
    operations: ['pendingTraces', 'blocks'],
    indexers: { all, heads, admission: { inFlight: 5, waiting: 2, expectedWaitMs: () => 1000 } },
    memory: { sizeBytes: 10, count: 1 },
    maxMemoryBytes: 100,
    clock: { aheadOfWallMs: 0 },
    isRedisUsed: () => false,
  } as unknown as NumberSources;
  return { world, counted, sources, numbers: () => readNumbers(sources, 1000, 0.01) };
}

describe('the numbers of the status page', () => {
  it('are rates since the last look, and ratios over 10 s', () => {
    const { world, counted, numbers } = start();
    world.answered(60);
    world.answered(10, 'hit-redis');
    world.answered(8, 'stale');
    world.answered(16, 'miss');
    world.failed(4, overloaded('queue-full', 0));
    world.failed(2, failure('upstream-timeout'));
    world.sent(25, 200);
    for (let time = 0; time < 5; time++)
      world.events.report({ name: 'answered', operation: 'pendingTraces', outcome: 'invalid' });
    world.now += 1000;
    counted.turn();
    const { rates, hitRatio, answeredRatio, savedRatio } = numbers();
    expect(rates).toMatchObject({ 'hit-memory': 60, stale: 8, miss: 16, invalid: 5, refused: 4, failed: 2 });
    // 100 requests are valid, and 6 of them failed; 94 answers took 25 requests to the indexer.
    expect([hitRatio, answeredRatio, savedRatio]).toEqual([0.78, 0.94, 1 - 25 / 94]);
  });

  it('are absent where nothing was counted', () => {
    const { numbers, sources } = start();
    expect(numbers()).toMatchObject({
      hitRatio: undefined,
      answeredRatio: undefined,
      upstream: { p50Seconds: undefined },
    });
    expect(readNumbers(sources, undefined, 0).rates).toBeUndefined();
  });

  it('show the state of each of several indexers, of their operations and of Redis', () => {
    const { upstream, operations, redis, upstreams } = start().numbers();
    expect(operations).toMatchObject([
      { operation: 'pendingTraces', breakersOpenAt: ['a'], breakersHalfOpenAt: [], notServedBy: ['b'] },
      { operation: 'blocks', breakersOpenAt: [], breakersHalfOpenAt: ['b'], notServedBy: [] },
    ]);
    expect([upstream.paused, upstream.limit, redis]).toEqual([true, 192, 'failed']);
    expect(upstreams).toMatchObject([
      { upstream: 'a', state: 'paused', lagBlocks: 4, ageSeconds: 1.5, peakSeconds: 0.25 },
      { upstream: 'b', state: 'healthy', slotsInUse: 3 },
      { upstream: 'c', state: 'stands still' },
    ]);
  });

  it.each<[string | undefined, before: readonly number[], after: readonly number[]]>([
    ['few-keys', new Array(10).fill(500), new Array(20).fill(500)],
    ['few-failures', [...new Array(9).fill(200), ...new Array(5).fill(500)], [...new Array(9).fill(200), 500]],
    ['not-counted', new Array(5).fill(401), new Array(5).fill(429)],
    // No failure in the last 5 s: the circuit breaker may have been open before.
    [undefined, new Array(30).fill(500), new Array(5).fill(200)],
  ])('show why the circuit breaker of a failing operation is closed: %s', (why, before, after) => {
    const { world, counted, numbers } = start();
    world.failed(5, failure('internal'));
    for (const status of before) world.sent(1, status);
    world.now += 1000;
    counted.turn();
    world.now += 5500;
    for (const status of after) world.sent(1, status);
    counted.turn();
    expect(numbers().operations[0]?.closedDespite).toBe(why);
  });

  it('count a hit in memory as 0 s', () => {
    const { world, numbers } = start();
    for (let time = 0; time < 100; time++)
      world.events.report({ name: 'waited', operation: 'pendingTraces', outcome: 'miss', ms: 1500 });
    world.answered(100, 'miss');
    expect(numbers().latency.p50Seconds).toBeCloseTo(1.5);
    world.answered(100_000);
    expect(numbers().latency.p99Seconds).toBe(0);
  });
});

it('each answered request is counted once, for conditions, status page and metrics', () => {
  const on = vi.spyOn(EventHub.prototype, 'on');
  start();
  const listened = on.mock.calls.map(([name]) => name);
  on.mockRestore();
  for (const name of ['answered', 'waited', 'evicted', 'older-answer'] as const)
    expect([name, listened.filter((each) => each === name).length]).toEqual([name, 1]);
});

it('a window has only the counts of its time, at most a minute of details and five of sums', () => {
  const { world, counted } = start();
  for (let second = 0; second < 400; second++) {
    world.answered(1);
    if (second % 10 === 0) world.failed(1, failure('upstream-timeout'));
    world.sent(1, second < 395 ? 200 : 500);
    world.now += 1000;
    counted.turn();
  }
  world.now += 400;
  const { all, seconds } = counted.within(10_000);
  expect([all['hit-memory'], all.failed, seconds]).toEqual([10, 1, 10.4]);
  expect(counted.within(4000).upstream('a')).toMatchObject({ sent: 4, bad: 4 });
  expect(counted.sums(300_000)).toEqual({ asked: 330, failed: 30 });
  expect(counted.totals).toMatchObject({ answered: 400, sent: 400 });
});

it('a quantile is linear within its bucket, and the lower bound of the last one', () => {
  const bounds = [0.0005, 0.001, 0.0025, 5];
  expect(quantileOf([10, 40, 40], bounds, 10 / 90 / 2)).toBeCloseTo(0.00025);
  expect(quantileOf([10, 40, 40], bounds, 70 / 90)).toBeCloseTo(0.00175);
  expect(quantileOf([0, 0, 0, 0, 5], bounds, 0.5)).toBe(5);
  expect(quantileOf([], bounds, 0.5)).toBeUndefined();
});
