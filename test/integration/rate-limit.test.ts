import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { type Indexer, startIndexer } from '../../src/simulator/indexer.ts';
import { RateLimit } from '../../src/upstream/rate-limit.ts';
import type { SharedWindow } from '../../src/upstream/rate-window.ts';
import { UpstreamClient } from '../../src/upstream/upstream-client.ts';
import { connectedScripting } from '../support/connected-scripting.ts';
import { mostWithin } from '../support/sliding-count.ts';

const redisUrl = inject('redisUrl');

let indexer: Indexer;
/** When requests have arrived at the indexer. */
let arrivals: number[];
let connections: AsyncDisposableStack;

beforeEach(async () => {
  connections = new AsyncDisposableStack();
  indexer = await startIndexer();
  arrivals = [];
  indexer.requests.on('request', () => void arrivals.push(performance.now()));
});

afterEach(async () => {
  await connections.disposeAsync();
  await indexer.close();
});

/** An instance: callers that ask the indexer all the time, each request after its turn, until `signal` ends them. */
function instance(rateLimit: RateLimit, signal: AbortSignal): void {
  const client = new UpstreamClient({
    baseUrl: new URL(indexer.url),
    apiKey: undefined,
    timeoutMs: 30_000,
    maxConnections: 16,
    maxBodyBytes: 1024 * 1024,
    keepAliveMs: 4000,
    connectionLifetimeMs: 300_000,
    now: Date.now,
  });
  connections.defer(() => client.close());
  const keepAsking = async () => {
    while ((await rateLimit.take(signal)) === 'go') {
      await client.fetch({ operation: 'masterchainBlockShards', query: [['seqno', '1']], headers: [] });
    }
  };
  connections.defer(async () => {
    await Promise.all(askers);
  });
  const askers = Array.from({ length: 16 }, keepAsking);
}

async function windowOf(key: string): Promise<SharedWindow> {
  const connection = await connectedScripting(redisUrl);
  connections.defer(() => connection.close());
  const { runScript } = connection;
  return { key, runScript, budgetMs: 5000, breaker: { faults: 3, restMs: 1000 }, onShared: () => {} };
}

const now = () => performance.now();

test.each([
  [1, 3],
  [10, 30],
  [25, 60],
  [1000, 2500],
])('the indexer never gets more than twice %i requests in a second', { timeout: 60_000 }, async (perSecond, count) => {
  const ending = new AbortController();
  instance(new RateLimit({ perSecond, shared: undefined, now }), ending.signal);
  await indexer.requests.arrived(count);
  ending.abort();
  expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(2 * perSecond);
});

test.each([
  [1, 3],
  [10, 30],
])(
  'three instances on one Redis together send no more than that: %i',
  { timeout: 60_000 },
  async (perSecond, count) => {
    const ending = new AbortController();
    const key = `test:rate:${randomUUID()}`;
    for (let number = 0; number < 3; number++) {
      instance(new RateLimit({ perSecond, shared: await windowOf(key), now }), ending.signal);
    }
    await indexer.requests.arrived(count);
    ending.abort();
    expect(mostWithin(arrivals, 1000)).toBeLessThanOrEqual(2 * perSecond);
    expect(mostWithin(arrivals, 3000)).toBeLessThanOrEqual(4 * perSecond);
  },
);

test('a window in Redis is of its key alone, and gone a second after its last turn', async () => {
  const key = `test:rate:${randomUUID()}`;
  const connection = await connectedScripting(redisUrl);
  connections.defer(() => connection.close());
  const { signal } = new AbortController();
  expect(await new RateLimit({ perSecond: 10, shared: await windowOf(key), now }).take(signal)).toBe('go');
  expect(await new RateLimit({ perSecond: 10, shared: await windowOf(`${key}:other`), now }).take(signal)).toBe('go');
  expect(String(await connection.getBuffer(key))).toBe('1');
  await expect.poll(() => connection.getBuffer(key)).toBeUndefined();
});
