import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asAdmin } from '../support/as-admin.ts';
import { runCommand } from '../support/command-output.ts';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { IMPATIENT_REDIS, PATIENT_REDIS } from '../support/patience.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';
import { CREDENTIALS, LEAST_RIGHTS, redisUser } from '../support/redis-user.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type Overrides, type RunningProxy, startProxy } from '../support/start-proxy.ts';

const BOUNDED = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];

const statusOf = async (proxy: RunningProxy) => JSON.parse((await proxy.askAdmin('/status.json')).text);

/** Why Redis cannot be used, by the condition; empty while it can be. */
const whyUnusable = async (proxy: RunningProxy): Promise<string> =>
  (await statusOf(proxy)).conditions.find(({ name }: { name: string }) => name === 'redis-unavailable')?.says ?? '';

const untilUsed = (proxy: RunningProxy) => expect.poll(async () => (await statusOf(proxy)).redis).toBe('used');

let upstream: ScriptedUpstream;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answeringJson(() => children('a')));
});

afterAll(() => upstream[Symbol.asyncDispose]());

const start = (redisUrl: string, redis: NonNullable<Overrides['redis']> = PATIENT_REDIS) =>
  startProxy({ upstreamUrl: upstream.url, env: { REDIS_URL: redisUrl, NETWORK: 'mainnet' }, overrides: { redis } });

/** The result of `check-config --connect` for Redis. */
async function checked(redisUrl: string) {
  const env = { UPSTREAM_URL: 'http://127.0.0.1:1', REDIS_URL: redisUrl, NETWORK: 'mainnet' };
  const { stdout } = await runCommand(['check-config', '--connect', '--json'], { env });
  const { checks } = JSON.parse(stdout) as { checks: { service: string; found: string; isWrong: boolean }[] };
  return checks.find(({ service }) => service === 'Redis');
}

describe('a node of a Cluster under redis://', () => {
  it('is not used, and condition, log and check-config report it and name the right form of the URL', async () => {
    await using cluster = await startRedisCluster({ args: BOUNDED });
    for (const { url } of cluster.masters) {
      await using proxy = await start(url);
      const reason = expect.stringContaining('redis-cluster://');
      expect(await whyUnusable(proxy)).toEqual(reason);
      expect(proxy.log).toContainEqual(expect.objectContaining({ condition: 'redis-unavailable', reason }));
      // On a slow machine it may find no answer within a second, and says so.
      await expect.poll(() => checked(url)).toMatchObject({ isWrong: true, found: reason });
    }
    await expect.poll(() => checked(cluster.url)).toMatchObject({ isWrong: false });
  });

  it('is used if it is the only one, because it has all keys', async () => {
    await using cluster = await startRedisCluster({ masters: 1, args: BOUNDED });
    const [{ url } = { url: '' }] = cluster.masters;
    await using proxy = await start(url);
    await untilUsed(proxy);
  });
});

describe('a Redis user', () => {
  it.each([
    ['scripts', '-@scripting', '+@scripting'],
    ['reads', '-get', '+get'],
    ['writes', '-set', '+set'],
    ['the time', '-time', '+time'],
    ['sorted sets', '-@sortedset', '+@sortedset'],
    ['the keys of entries', 'resetkeys ~toncache:bans:*', '~toncache:*'],
    ['the keys of purges', 'resetkeys ~toncache:[0-9]*', '~toncache:*'],
  ])(
    'without a right (%s) makes Redis unusable, which is reported; with the right Redis is used, even without requests',
    async (_, lacking, given) => {
      await using redis = await startRedis({ args: [...redisUser(`${LEAST_RIGHTS} ${lacking}`), ...BOUNDED] });
      const url = redis.url.replace('://', `://${CREDENTIALS}@`);
      await using proxy = await start(url);
      await using other = await start(url);
      const reason = expect.stringMatching(/NOPERM|can't run/);
      expect(await whyUnusable(proxy)).toEqual(reason);
      expect(proxy.log).toContainEqual(expect.objectContaining({ condition: 'redis-unavailable', reason }));
      expect(await checked(url)).toMatchObject({ isWrong: true });
      await asAdmin(redis, (admin) => admin.acl('SETUSER', 'toncache', ...given.split(' ')));
      for (const each of [proxy, other]) await untilUsed(each);
      const target = someParent();
      await proxy.reply(target);
      await proxy.untilRedisHasAll();
      expect((await other.reply(target)).cache).toMatchObject({ hit: true, detail: 'redis' });
    },
  );

  it('that loses a right later makes Redis unusable from then on, even without requests', async () => {
    await using redis = await startRedis({ args: [...redisUser(LEAST_RIGHTS), ...BOUNDED] });
    await using proxy = await start(redis.url.replace('://', `://${CREDENTIALS}@`));
    await untilUsed(proxy);
    await asAdmin(redis, (admin) => admin.acl('SETUSER', 'toncache', '-@scripting'));
    await expect.poll(() => whyUnusable(proxy)).toContain('NOPERM');
  });
});

it('a Redis that hung is used again when it answers, even without requests', async () => {
  await using redis = await startRedis({ args: BOUNDED });
  await using proxy = await start(redis.url, IMPATIENT_REDIS);
  await untilUsed(proxy);
  await redis.pause();
  for (let time = 0; time < 5; time++) await proxy.reply(someParent());
  await expect.poll(() => whyUnusable(proxy)).not.toBe('');
  await redis.resume();
  await untilUsed(proxy);
});
