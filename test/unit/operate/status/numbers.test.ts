import { describe, expect, it } from 'vitest';
import { Growth, Samples } from '../../../../src/operate/samples.ts';
import { readNumbers } from '../../../../src/operate/status/numbers.ts';
import { sample } from './read-sample.ts';

const samplesAt = (at: number, ...lines: string[]) => new Samples(lines.map(sample), at);

const NOTHING = samplesAt(0);

describe('the numbers of the status page', () => {
  it('are rates between the last two samples, and ratios over all of them', () => {
    const oldest = samplesAt(0, 'requests_total outcome=miss 10', 'upstream_requests_total operation=pendingTraces 10');
    const before = samplesAt(
      8000,
      'requests_total outcome=miss 20',
      'upstream_requests_total operation=pendingTraces 20',
    );
    const newest = samplesAt(
      10_000,
      'requests_total outcome=miss 24',
      'requests_total outcome=hit-memory 60',
      'requests_total outcome=hit-redis 10',
      'requests_total outcome=stale 8',
      'requests_total outcome=collapsed 2',
      'requests_total outcome=failed 6',
      'requests_total outcome=invalid 5',
      'request_failures_total code=overloaded 4',
      'request_failures_total code=upstream-timeout 2',
      'upstream_requests_total operation=pendingTraces 35',
      'upstream_requests_total operation=passthrough 1000',
    );
    const { rates, hitRatio, answeredRatio, savedRatio } = readNumbers([oldest, before, newest]);
    expect(rates).toEqual({
      'hit-memory': 30,
      'hit-redis': 5,
      'hit-proven': 0,
      stale: 4,
      collapsed: 1,
      miss: 2,
      invalid: 2.5,
      refused: 2,
      failed: 1,
    });
    expect(hitRatio).toBe(0.78);
    // 100 requests are valid, and 6 of them failed.
    expect(answeredRatio).toBeCloseTo(0.94);
    // 94 answers took 25 requests to the indexer; refused and failed requests save nothing.
    expect(savedRatio).toBe(1 - 25 / 94);
  });

  it('are absent where nothing was counted', () => {
    const numbers = readNumbers([NOTHING]);
    expect(numbers.rates).toBeUndefined();
    expect(numbers.hitRatio).toBeUndefined();
    expect(numbers.answeredRatio).toBeUndefined();
    expect(numbers.upstream.p50Seconds).toBeUndefined();
    expect(numbers).toMatchObject({ redis: 'not configured' });
  });

  it('show open circuit breakers, operations that are not served, a pause and a failed Redis', () => {
    const { upstream, operations, redis } = readNumbers([
      samplesAt(
        0,
        'requests_total operation=pendingTraces outcome=miss 0',
        'requests_total operation=other outcome=miss 0',
        'circuit_breaker_open upstream=a operation=pendingTraces 0',
        'circuit_breaker_open upstream=b operation=pendingTraces 1',
        'upstream_operation_not_served upstream=a operation=other 1',
        'upstream_paused 1',
        'redis_available call=read 1',
        'redis_available call=write 0',
      ),
    ]);
    expect(operations).toMatchObject([
      { operation: 'pendingTraces', breakersOpenAt: ['b'], notServedBy: [] },
      { operation: 'other', breakersOpenAt: [], notServedBy: ['a'] },
    ]);
    expect(upstream.paused).toBe(true);
    expect(redis).toBe('failed');
  });

  it.each([
    ['few-keys', ['500 10'], ['500 20']],
    ['few-keys', ['200 4', '500 5', 'upstream-unreachable 5'], ['200 8', '500 10', 'upstream-unreachable 10']],
    ['few-failures', ['200 9', '500 5'], ['200 18', '500 9']],
    ['not-counted', ['401 5'], ['401 10']],
    ['not-counted', ['429 5', '501 5', '400 5'], ['429 9', '501 9', '400 9']],
    // No failure in the last 5 s: the circuit breaker may have been open before.
    [undefined, ['500 30'], ['500 30', '200 5']],
  ])('show why the circuit breaker of a failing operation is closed: %s', (why, before, after) => {
    const line = (result: string) => `upstream_requests_total operation=pendingTraces result=${result}`;
    const failed = 'requests_total operation=pendingTraces outcome=failed';
    const { operations } = readNumbers([
      samplesAt(0, `${failed} 0`),
      samplesAt(5000, `${failed} 5`, ...before.map(line)),
      samplesAt(10_000, `${failed} 10`, ...after.map(line)),
    ]);
    expect(operations).toMatchObject([{ operation: 'pendingTraces', closedDespite: why }]);
  });

  it('give no reason for a closed circuit breaker if all requests for its operation are answered', () => {
    const { operations } = readNumbers([
      NOTHING,
      samplesAt(
        10_000,
        'requests_total operation=pendingTraces outcome=stale 9',
        'upstream_requests_total operation=pendingTraces result=500 9',
      ),
    ]);
    expect(operations[0]?.closedDespite).toBeUndefined();
  });

  it('show the state of each of several indexers', () => {
    const indexers = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const {
      upstreams: shown,
      upstream,
      newestAgeSeconds,
    } = readNumbers([
      NOTHING,
      samplesAt(
        10_000,
        'upstream_unresponsive upstream=g 1',
        'upstream_backup upstream=h 1',
        'upstream_requests_total upstream=h result=200 20',
        'upstream_head_age_seconds upstream=a 1.5',
        'upstream_head_age_seconds upstream=d 90',
        ...indexers.map((indexer) => `upstream_head_seqno upstream=${indexer} 7`),
        'upstream_head_check_failed upstream=b reason=lacks-block 1',
        'upstream_behind upstream=b 1',
        'upstream_head_check_failed upstream=c reason=other-chain 1',
        'upstream_behind upstream=d 1',
        'upstream_unhealthy upstream=e 1',
        'upstream_paused upstream=f 1',
      ),
    ]);
    const states = [
      'healthy',
      'lacks blocks',
      'another chain',
      'behind',
      'unhealthy',
      'paused',
      'unresponsive',
      'healthy',
    ];
    expect(shown.map(({ state }) => state)).toEqual(states);
    expect(shown.map(({ lagBlocks }) => lagBlocks)).toEqual([0, 0, 0, 0, 0, 0, undefined, undefined]);
    expect(shown.map(({ isBackup }) => isBackup).indexOf(true)).toBe(7);
    expect(shown.map(({ ageSeconds }) => ageSeconds).slice(0, 4)).toEqual([1.5, undefined, undefined, 90]);
    expect([upstream.backupPerSecond, newestAgeSeconds]).toEqual([2, 1.5]);
  });

  it('contain the latency for clients, and count a hit in memory as 0', () => {
    const waited = (le: string, count: number) =>
      `request_duration_seconds_bucket le=${le} operation=a outcome=miss ${count}`;
    const samples = (hits: number) =>
      samplesAt(
        10_000,
        `requests_total operation=a outcome=hit-memory ${hits}`,
        'requests_total operation=a outcome=miss 100',
        waited('0.1', 0),
        waited('2', 100),
        waited('+Inf', 100),
      );
    expect(readNumbers([NOTHING, samples(0)]).latency.p50Seconds).toBeCloseTo(1.05);
    expect(readNumbers([NOTHING, samples(1900)]).latency.p99Seconds).toBeCloseTo(1.62);
    expect(readNumbers([NOTHING, samples(100_000)]).latency.p99Seconds).toBeLessThan(0.1);
    const { operations, memory } = readNumbers([NOTHING, samples(1900)]);
    expect(operations).toMatchObject([{ operation: 'a', perSecond: 200, hitRatio: 0.95 }]);
    expect(operations[0]?.p99Seconds).toBeCloseTo(1.62);
    expect(memory.evictedPerSecond).toBe(0);
  });

  it('estimate a quantile within its bucket, as Prometheus does', () => {
    const after = samplesAt(
      0,
      'h_bucket le=0.1 operation=a 50',
      'h_bucket le=0.2 operation=a 90',
      'h_bucket le=+Inf operation=a 90',
      'h_bucket le=0.1 operation=b 0',
      'h_bucket le=0.2 operation=b 0',
      'h_bucket le=+Inf operation=b 10',
    );
    expect(new Growth(NOTHING, after).quantile('h', 0.25)).toBeCloseTo(0.05);
    expect(new Growth(NOTHING, after).quantile('h', 0.7)).toBeCloseTo(0.15);
    // In the bucket `+Inf`, the estimate is the last finite bound.
    expect(new Growth(NOTHING, after).quantile('h', 0.99)).toBe(0.2);
    expect(new Growth(after, after).quantile('h', 0.5)).toBeUndefined();
  });
});
