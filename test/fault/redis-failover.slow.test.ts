import { expect, test } from 'vitest';
import { type ObservedConnection, observedConnection, putBytes } from '../support/connected-redis.ts';
import { adminOf, startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import type { RedisServer } from '../support/redis-server.ts';

const COMMAND_TIMEOUT_MS = 500;
const WAIT = { timeout: 60_000, interval: 20 };

const keys = Array.from({ length: 60 }, (_, index) => `toncache:{${index}}`);

/** How many of the keys can be written and read now. That each call settles is part of the test. */
async function usable(redis: ObservedConnection): Promise<number> {
  const uses = keys.map(async (key) => {
    const startedAt = performance.now();
    const value = Buffer.from(`${key} ${startedAt}`);
    try {
      await putBytes(redis, key, value);
      return String(await redis.getBuffer(key)) === String(value);
    } catch {
      return false;
    } finally {
      // Two calls, one after the other, ten times over.
      expect(performance.now() - startedAt).toBeLessThan(2 * 10 * COMMAND_TIMEOUT_MS);
    }
  });
  return (await Promise.all(uses)).filter((isRight) => isRight).length;
}

test.each([
  ['killed', (server: RedisServer) => server.kill()],
  ['hung', (server: RedisServer) => server.pause()],
])(
  'a master of a Cluster that is %s makes only its own keys fail, until its replica has taken over',
  async (_, strike) => {
    await using cluster = await startRedisCluster({ replicas: 1, args: ['--cluster-require-full-coverage', 'no'] });
    await using redis = await observedConnection(cluster.url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
    expect(await usable(redis)).toBe(keys.length);
    const [struck, well] = cluster.masters as [RedisServer, RedisServer];
    await strike(struck);
    const meanwhile = await usable(redis);
    expect(meanwhile).toBeGreaterThan(0);
    expect(meanwhile).toBeLessThan(keys.length);
    await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
    expect(redis.transitions).toEqual([{ state: 'connected' }]);

    // The old master comes back as a replica, and nothing is lost by it.
    if (_ === 'killed') await struck.restart();
    else await struck.resume();
    const admin = adminOf(well.port);
    await expect.poll(async () => String(await admin.cluster('NODES')).match(/fail/g), WAIT).toBeNull();
    admin.disconnect();
    await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
  },
);

test('a master without a replica is used again when it is back, and the others are used meanwhile', async () => {
  await using cluster = await startRedisCluster({ args: ['--cluster-require-full-coverage', 'no'] });
  await using redis = await observedConnection(cluster.url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  await cluster.masters[0]?.kill();
  await expect.poll(() => usable(redis), WAIT).toBeGreaterThan(0);
  // Longer than the interval at which the connection is tried again.
  const until = performance.now() + 9000;
  while (performance.now() < until) expect(await usable(redis)).toBeLessThan(keys.length);
  await cluster.masters[0]?.restart();
  await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
});

test('a whole Cluster that is killed is reported once, and used again when it is back', async () => {
  await using cluster = await startRedisCluster();
  await using redis = await observedConnection(cluster.url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  await Promise.all(cluster.masters.map((server) => server.kill()));
  await expect.poll(() => redis.transitions.length, WAIT).toBe(2);
  expect(await usable(redis)).toBe(0);
  await Promise.all(cluster.masters.map((server) => server.restart()));
  await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
  expect(redis.transitions.map(({ state }) => state)).toEqual(['connected', 'disconnected', 'connected']);
});

test.each([
  ['killed', (server: RedisServer) => server.kill()],
  ['hung', (server: RedisServer) => server.pause()],
])('while a primary that is %s fails over, calls fail at once; then the new primary is found', async (_, strike) => {
  await using servers = await startRedisSentinels();
  await using redis = await observedConnection(servers.url, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  expect(await usable(redis)).toBe(keys.length);
  await strike(servers.primary);
  expect(await usable(redis)).toBe(0);
  await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
  expect(redis.transitions[0]).toEqual({ state: 'connected' });
  expect(redis.transitions.at(-1)).toEqual({ state: 'connected' });
  if (_ === 'hung') await servers.primary.resume();
  await expect.poll(() => usable(redis), WAIT).toBe(keys.length);
});
