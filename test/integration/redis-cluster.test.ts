import { afterAll, beforeEach, expect, test } from 'vitest';
import { observedConnection, putBytes } from '../support/connected-redis.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';

/** On a busy machine a slow Redis is not a failed one. */
const PATIENT = { connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 };

let cluster: RedisCluster;

beforeEach(async () => {
  cluster ??= await startRedisCluster();
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

const keys = Array.from({ length: 60 }, (_, index) => `toncache:{${index}}`);

test('one reachable node is enough to connect', async () => {
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
