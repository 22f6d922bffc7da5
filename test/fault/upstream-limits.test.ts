import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failed, rateLimited } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { GuardedUpstream } from './guarded-upstream.ts';

let indexer: Indexer;
let upstream: GuardedUpstream;

beforeEach(async () => {
  indexer = await startIndexer({ port: await freePort() });
  upstream = new GuardedUpstream(indexer);
});

afterEach(async () => {
  await upstream[Symbol.asyncDispose]();
  await indexer.close();
});

function times(count: number, ended: unknown): unknown[] {
  return Array.from({ length: count }, () => ended);
}

describe('an indexer that answers 429', () => {
  test.each([
    ['JSON, with Retry-After', rateLimited('json', '7'), 7000],
    ['JSON', rateLimited('json'), 1000],
    ['plain text', rateLimited('text'), 1000],
  ])('gets no requests until its pause ends, then one trial, and after its success all: %s', async (_, fault, ms) => {
    indexer.faults.inject(fault, { times: 1 });
    expect(await upstream.call('masterchainBlockShards')).toBe(429);
    expect(upstream.pauseMs).toBe(ms);
    expect(await upstream.calls('masterchainBlockShards', 50)).toEqual(times(50, 'paused'));
    expect(indexer.requests.total).toBe(1);

    upstream.nowMs += ms;
    const gate = indexer.hold();
    const ended: unknown[] = [];
    const crowd = times(50, undefined).map(async () => ended.push(await upstream.call('masterchainBlockShards')));
    await expect.poll(() => ended).toEqual(times(49, 'paused'));
    gate.release();
    await Promise.all(crowd);
    expect(ended.at(-1)).toBe(200);
    expect(indexer.requests.total).toBe(2);
    expect(await upstream.calls('pendingTraces', 20)).not.toContain('paused');
  });

  test('again to the trial gets one trial after each pause, and each pause is longer', async () => {
    indexer.faults.inject(rateLimited('json'));
    await upstream.call('masterchainBlockShards');
    for (const ms of [1000, 2000, 4000, 8000]) {
      expect(upstream.pauseMs).toBe(ms);
      upstream.nowMs += ms;
      expect((await upstream.calls('masterchainBlockShards', 20)).toSorted()).toEqual([429, ...times(19, 'paused')]);
    }
    expect(indexer.requests.total).toBe(5);
  });

  test('opens no circuit breaker', async () => {
    indexer.faults.inject(rateLimited('json'));
    for (let call = 0; call < 40; call++) {
      await upstream.call('masterchainBlockShards');
      upstream.nowMs += upstream.pauseMs;
    }
    expect(upstream.transitions).toEqual([]);
  });
});

describe('an indexer that fails one operation', () => {
  test('gets no requests for it until a trial succeeds, and requests for the others as before', async () => {
    const fault = indexer.faults.inject(failed(500), { operation: 'pendingTraces' });
    expect(await upstream.calls('pendingTraces', 20)).toEqual(times(20, 500));
    expect(upstream.transitions).toEqual([{ operation: 'pendingTraces', state: 'open' }]);
    expect(await upstream.calls('pendingTraces', 100)).toEqual(times(100, 'breaker-open'));
    expect(await upstream.calls('masterchainBlockShards', 20)).toEqual(times(20, 200));
    expect(indexer.requests.count('pendingTraces')).toBe(20);

    upstream.nowMs += 2000;
    expect((await upstream.calls('pendingTraces', 20)).toSorted()).toEqual([500, ...times(19, 'breaker-open')]);
    expect(upstream.retryAfterMs('pendingTraces')).toBe(4000);
    fault.remove();
    upstream.nowMs += 4000;
    expect(await upstream.call('pendingTraces')).toBe(422);
    expect(upstream.transitions.at(-1)).toEqual({ operation: 'pendingTraces', state: 'closed' });
    expect(await upstream.calls('pendingTraces', 20)).toEqual(times(20, 422));
  });

  test('for one key alone still gets requests', async () => {
    indexer.faults.inject(failed(500));
    // Twice as many as open the breaker when they are of several keys.
    for (let call = 0; call < 40; call++) {
      expect(await upstream.callOf('pendingTraces', 'the broken one')).toBe(500);
    }
    expect(upstream.transitions).toEqual([]);
  });

  test.each([404, 422])('with %i still gets requests', async (status) => {
    indexer.faults.inject(failed(status));
    expect(await upstream.calls('pendingTraces', 100)).toEqual(times(100, status));
    expect(upstream.transitions).toEqual([]);
  });
});

describe('an indexer that cannot be reached', () => {
  test('opens the circuit breakers of all operations, which close again by themselves', async () => {
    const { port, chain } = indexer;
    await indexer.close();
    await upstream.calls('adjacentTransactions', 20);
    expect(upstream.transitions.map(({ operation }) => operation).toSorted()).toEqual([
      'adjacentTransactions',
      'masterchainBlockShards',
      'pendingTraces',
    ]);
    expect(await upstream.calls('masterchainBlockShards', 50)).toEqual(times(50, 'breaker-open'));

    indexer = await startIndexer({ port, chain });
    expect(await upstream.call('masterchainBlockShards')).toBe('breaker-open');
    upstream.nowMs += 2000;
    expect(await upstream.call('masterchainBlockShards')).toBe(200);
    expect(upstream.retryAfterMs('masterchainBlockShards')).toBeUndefined();
  });
});

describe('a request is retried', () => {
  test('when its connection was reset before the answer', async () => {
    indexer.faults.inject({ kind: 'reset' }, { times: 1 });
    expect(await upstream.call('masterchainBlockShards')).toBe(200);
    expect(indexer.requests.total).toBe(2);
  });

  test('at most once', async () => {
    indexer.faults.inject({ kind: 'reset' });
    expect(await upstream.call('masterchainBlockShards')).toBe('upstream-unreachable');
    expect(indexer.requests.total).toBe(2);
  });

  test.each(['content-length', 'chunked'] as const)('not when the answer was cut short: %s', async (framing) => {
    indexer.faults.inject({ kind: 'cut', framing });
    expect(await upstream.call('masterchainBlockShards')).toBe('upstream-invalid');
    expect(indexer.requests.total).toBe(1);
  });

  test('not when it timed out', async () => {
    await using impatient = new GuardedUpstream(indexer, { timeout: '1s' });
    indexer.faults.inject({ kind: 'hang' });
    expect(await impatient.call('masterchainBlockShards')).toBe('upstream-timeout');
    expect(indexer.requests.total).toBe(1);
  });

  test('not when the indexer answered with an error', async () => {
    indexer.faults.inject(failed(500));
    expect(await upstream.call('masterchainBlockShards')).toBe(500);
    expect(indexer.requests.total).toBe(1);
  });

  test('for at most a tenth of the requests, and once a second', async () => {
    expect(await upstream.calls('masterchainBlockShards', 100)).toEqual(times(100, 200));
    indexer.requests.reset();
    indexer.faults.inject({ kind: 'reset' });
    // One key, so that no breaker ends it.
    await Promise.all(Array.from({ length: 200 }, () => upstream.callOf('masterchainBlockShards', 'one')));
    expect(indexer.requests.total).toBeGreaterThan(200);
    expect(indexer.requests.total).toBeLessThanOrEqual(200 + 10 + 20 + 1);
  });
});
