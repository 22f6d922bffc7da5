import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadSettings } from '../../../src/config/load.ts';

const SIDECAR_MEMORY = 64 * 1024 ** 2;
const SHARED_MEMORY = 1024 ** 3;

function load(use: string) {
  const file = fileURLToPath(new URL(`../../../config/${use}.json`, import.meta.url));
  return loadSettings({ UPSTREAM_URL: 'http://indexer:8081', CONFIG_FILE: file }).settings;
}

test('the sidecar is small', () => {
  const { memory, upstream } = load('sidecar');
  expect([memory.maxSize, upstream.maxConcurrency]).toEqual([SIDECAR_MEMORY, 32]);
});

test('the shared cache is large', () => {
  const { memory, upstream, redis } = load('shared');
  expect([memory.maxSize, upstream.maxConcurrency, redis.maxPendingWriteSize]).toEqual([
    SHARED_MEMORY,
    128,
    64 * 1024 * 1024,
  ]);
});

test('before a public provider the rate is limited, and live answers live longer', () => {
  const { upstream, lifetimes } = load('public-provider');
  expect([upstream.requestsPerSecond, upstream.timeout]).toEqual([10, 10_000]);
  expect(lifetimes.pendingLive.lifetime).toBeGreaterThan(loadDefaults().lifetimes.pendingLive.lifetime);
});

test('a load balancer has 5 s to notice that an instance shuts down', () => {
  expect([load('shared'), load('public-provider')].map(({ http }) => http.shutdownDelay)).toEqual([5000, 5000]);
  expect([load('sidecar'), loadDefaults()].map(({ http }) => http.shutdownDelay)).toEqual([0, 0]);
});

function loadDefaults() {
  return loadSettings({ UPSTREAM_URL: 'http://x' }).settings;
}
