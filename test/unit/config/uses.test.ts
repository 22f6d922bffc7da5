import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadSettings } from '../../../src/config/load.ts';
import { lifetimesWith } from '../../../src/ton/lifetime-table.ts';

const SIDECAR_MEMORY = 64 * 1024 ** 2;
const SHARED_MEMORY = 1024 ** 3;

function load(use: string) {
  const file = fileURLToPath(new URL(`../../../config/${use}.json`, import.meta.url));
  return loadSettings({ UPSTREAM_URL: 'http://indexer:8081', CONFIG_FILE: file }).settings;
}

test('sidecar.json sets 64 MiB for the memory tier and 32 slots', () => {
  const { memory, upstream } = load('sidecar');
  expect([memory.maxSize, upstream.maxConcurrency]).toEqual([SIDECAR_MEMORY, 32]);
});

test('shared.json sets 1 GiB for the memory tier and 128 slots', () => {
  const { memory, upstream } = load('shared');
  expect([memory.maxSize, upstream.maxConcurrency]).toEqual([SHARED_MEMORY, 128]);
});

test('public-provider.json limits the request rate, and sets a longer lifetime for live answers', () => {
  const { upstream, lifetimes } = load('public-provider');
  expect([upstream.requestsPerSecond, upstream.timeout]).toEqual([10, 10_000]);
  const { pendingLive, adjacentLive, byHashGrowing, notFound } = lifetimesWith(lifetimes);
  expect([pendingLive.lifetime, adjacentLive.lifetime, byHashGrowing.minLifetime]).toEqual([1000, 1000, 2000]);
  expect(notFound.lifetime).toBe(400);
});

test('shutdownDelay is 5 s in shared.json and public-provider.json, for load balancers, and 0 otherwise', () => {
  expect([load('shared'), load('public-provider')].map(({ http }) => http.shutdownDelay)).toEqual([5000, 5000]);
  expect([load('sidecar'), loadDefaults()].map(({ http }) => http.shutdownDelay)).toEqual([0, 0]);
});

function loadDefaults() {
  return loadSettings({ UPSTREAM_URL: 'http://x' }).settings;
}
