import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedRate } from '../../src/admission/shared-rate.ts';
import { observedConnection, putBytes } from '../support/connected-redis.ts';
import { adminOf, type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';

/** On a busy machine a Redis that is slow is no Redis that fails. */
const PATIENT = { connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 };

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
});

afterAll(() => cluster[Symbol.asyncDispose]());

const keys = Array.from({ length: 60 }, (_, index) => `toncache:{${index}}`);

async function keysOfMasters(): Promise<number[]> {
  return await Promise.all(
    cluster.masters.map(async ({ port }) => {
      const admin = adminOf(port);
      const count = await admin.dbsize();
      admin.disconnect();
      return count;
    }),
  );
}

test('keys land on all masters and are read from there', async () => {
  await using redis = await observedConnection(cluster.url, PATIENT);
  await Promise.all(keys.map((key) => putBytes(redis, key, Buffer.from(`of ${key}`))));
  const read = await Promise.all(keys.map((key) => redis.getBuffer(key)));
  expect(read.map(String)).toEqual(keys.map((key) => `of ${key}`));
  expect(await redis.getBuffer('absent')).toBeUndefined();
  const starts = await Promise.all(keys.map((key) => redis.getStart(key, 5)));
  expect(starts.map(String)).toEqual(keys.map((key) => `of ${key}`.slice(0, 5)));
  expect(await redis.getStart('absent', 5)).toHaveLength(0);
  const counts = await keysOfMasters();
  expect(Math.min(...counts)).toBeGreaterThan(0);
  expect(redis.transitions).toEqual([{ state: 'connected' }]);
});

test('one node that can be reached is enough', async () => {
  const [, second] = cluster.masters;
  await using redis = await observedConnection(`redis-cluster://127.0.0.1:1,127.0.0.1:${second?.port}`, PATIENT);
  expect(redis.transitions).toEqual([{ state: 'connected' }]);
  await Promise.all(keys.map((key) => putBytes(redis, key, Buffer.from('x'))));
});

test('a script runs on the node of its keys, the first time and later', async () => {
  await using redis = await observedConnection(cluster.url, PATIENT);
  const script = `redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)
    return { redis.call('GET', KEYS[1]), 7, { ARGV[2] }, false } -- ${Math.random()}`;
  const bytes = Buffer.from([0, 0xff, 0x80]);
  for (let time = 0; time < 2; time++) {
    const replies = await Promise.all(keys.map((key) => redis.runScript(script, [key, `${key}:beside`], [bytes, 12])));
    for (const reply of replies) expect(reply).toEqual([bytes, 7, [Buffer.from('12')], null]);
  }
});

test('a script with keys of two slots is refused', async () => {
  await using redis = await observedConnection(cluster.url, PATIENT);
  await expect(redis.runScript('return 1', ['{0}', '{1}'], [])).rejects.toThrow('slot');
});

test('the rate is shared in a Cluster', async () => {
  await using redis = await observedConnection(cluster.url, PATIENT);
  const sharedChanges: boolean[] = [];
  const rate = new SharedRate(
    {
      runScript: redis.runScript,
      now: () => performance.now(),
      onShared: (shared) => sharedChanges.push(shared),
    },
    {
      key: 'toncache:rate',
      failuresToOpen: 1,
      openMs: 1000,
    },
  );
  expect(await rate.reserve(10_000, 1000)).toEqual({ state: 'reserved', waitMs: 0 });
  expect(await redis.getBuffer('toncache:rate')).toBeDefined();
  expect(sharedChanges).toEqual([]);
});
