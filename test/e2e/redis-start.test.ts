import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { PATIENT_REDIS } from '../support/patience.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';
import { type Overrides, type RunningProxy, startProxy } from '../support/start-proxy.ts';

const WARNING = 40;

let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answeringJson(() => children('a')));
});
afterAll(() => upstream[Symbol.asyncDispose]());

function start(redisUrl: string, redis: NonNullable<Overrides['redis']>) {
  const env = { REDIS_URL: redisUrl, NETWORK: someNetwork() };
  return startProxy({ upstreamUrl: upstream.url, env, overrides: { redis } });
}

const warnings = ({ log }: RunningProxy) => log.filter(({ level }) => level >= WARNING).map(({ msg }) => msg);

/** Answers come from the indexer until they are stored in Redis. */
async function untilStoredInRedis(proxy: RunningProxy): Promise<void> {
  await expect
    .poll(
      async () => {
        expect((await proxy.ask(someChildren())).status).toBe(200);
        return proxy.metric('redisCalls', { call: 'write', outcome: 'stored' });
      },
      { interval: 20 },
    )
    .toBeGreaterThan(0);
}

describe.each([
  ['down', (redis: RedisServer) => redis.kill(), (redis: RedisServer) => redis.restart(), 'ECONNREFUSED'],
  [
    'hung',
    (redis: RedisServer) => redis.pause(),
    (redis: RedisServer) => redis.resume(),
    'a command was not answered in time',
  ],
])('a start while Redis is %s', (_, fell, comeBack, reason) => {
  it('takes less than two connect timeouts and warns once, and Redis is used when it is back', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    await fell(redis);
    const connectTimeout = 1500;
    const { promise: twice, resolve } = Promise.withResolvers<'twice'>();
    setTimeout(() => resolve('twice'), 2 * connectTimeout);
    const starting = start(redis.url, { connectTimeout, commandTimeout: 3 * connectTimeout });
    const first = await Promise.race([starting, twice]);
    await using proxy = await starting;
    expect(first).not.toBe('twice');
    await expect.poll(() => warnings(proxy)).toEqual([expect.stringMatching(/^DEGRADED: .*Redis is unreachable/)]);
    const { conditions } = JSON.parse((await proxy.askAdmin('/status.json')).text);
    expect(conditions[0]).toMatchObject({ name: 'redis-unavailable', says: expect.stringContaining(reason) });
    await comeBack(redis);
    await untilStoredInRedis(proxy);
  });
});

describe('a Redis that may fill up', () => {
  const FILLS_UP = /Redis may fill up.*set maxmemory and an eviction policy such as allkeys-lru/;

  it('causes one warning with the remedy, also after a reconnect', async () => {
    await using redis = await startRedis();
    await using proxy = await start(redis.url, PATIENT_REDIS);
    await expect.poll(() => warnings(proxy)).toEqual([expect.stringMatching(FILLS_UP)]);
    await redis.restart();
    const connected = () => proxy.log.filter(({ msg }) => msg === 'connected to Redis').length;
    await expect.poll(connected).toBe(2);
    await untilStoredInRedis(proxy);
    expect(warnings(proxy).filter((it) => FILLS_UP.test(it))).toHaveLength(1);
  });

  it('causes one warning for all masters of a Cluster', async () => {
    await using cluster = await startRedisCluster({ args: ['--maxmemory', '100mb'] });
    await using proxy = await start(cluster.url, PATIENT_REDIS);
    await untilStoredInRedis(proxy);
    expect(warnings(proxy)).toEqual([expect.stringMatching(FILLS_UP)]);
    expect(warnings(proxy)[0]).toContain('noeviction');
  });
});
