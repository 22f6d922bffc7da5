import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { describe, expect, inject, test, vi } from 'vitest';
import { systemNames } from '../../src/names/names.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import type { EvictionProblem } from '../../src/redis/eviction.ts';
import { observedConnection } from '../support/connected-redis.ts';
import { adminOf, startRedisCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';

const TIMEOUTS = { names: systemNames(), connectTimeoutMs: 500, commandTimeoutMs: 500 };

describe('a script', () => {
  test('is sent by its digest, and once in full if the server does not have it', async () => {
    await using server = await startRedis();
    await using redis = await observedConnection(server.url);
    const admin = adminOf(server.port);
    const callsOf = async (name: string) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await admin.info('commandstats'))?.[1] ?? 0);
    for (let time = 0; time < 3; time++) expect(await redis.runScript('return 7', [], [])).toBe(7);
    expect([await callsOf('evalsha'), await callsOf('eval')]).toEqual([3, 1]);
    await admin.script('FLUSH');
    expect(await redis.runScript('return 7', [], [])).toBe(7);
    expect([await callsOf('evalsha'), await callsOf('eval')]).toEqual([4, 2]);
    admin.disconnect();
  });

  test('that fails is not sent again', async () => {
    await using redis = await observedConnection(inject('redisUrl'));
    const key = `count:${Math.random()}`;
    const script = `redis.call('INCR', KEYS[1]) return redis.call('NOSUCHCOMMAND')`;
    await expect(redis.runScript(script, [key], [])).rejects.toThrow();
    expect(String(await redis.getBuffer(key))).toBe('1');
  });
});

test('commands of one tick of the event loop are sent in one write', async () => {
  await using redis = await observedConnection(inject('redisUrl'));
  const cork = vi.spyOn(Socket.prototype, 'cork');
  const uncork = vi.spyOn(Socket.prototype, 'uncork');
  const reads = Array.from({ length: 10 }, (_, number) => redis.getBuffer(`absent:${number}`));
  expect([cork.mock.calls.length, uncork.mock.calls.length]).toEqual([1, 0]);
  expect(await Promise.all(reads)).toEqual(reads.map(() => undefined));
  expect(uncork).toHaveBeenCalledTimes(1);
});

describe('ready()', () => {
  test('resolves once the first command can be answered, in a Cluster by every master', async () => {
    await using cluster = await startRedisCluster();
    for (const url of [inject('redisUrl'), cluster.url]) {
      const redis = connectRedis({ names: systemNames(), url, connectTimeoutMs: 5000, commandTimeoutMs: 5000 });
      await redis.ready();
      const reads = Array.from({ length: 50 }, (_, index) => redis.getBuffer(`absent:${index}`));
      expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined]));
      await redis.close();
    }
  });

  test('also resolves if Redis refuses or hangs, or if the connection is closed', async () => {
    const silent = createServer(() => {});
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    for (const url of [
      'redis://127.0.0.1:1',
      'redis-cluster://127.0.0.1:1',
      'redis-sentinel://127.0.0.1:1?name=primary',
      `redis://127.0.0.1:${port}`,
      `redis-cluster://127.0.0.1:${port}`,
      `redis-sentinel://127.0.0.1:${port}?name=primary`,
    ]) {
      const redis = connectRedis({ url, ...TIMEOUTS });
      await redis.ready();
      await expect(redis.getBuffer('key')).rejects.toThrow('not connected');
      await redis.close();
      const closed = connectRedis({ url, ...TIMEOUTS });
      await closed.close();
      await closed.ready();
    }
    silent.close();
  });
});

describe('a warning about maxmemory', () => {
  const BOUND = ['--maxmemory', '100mb'];

  async function problemsOf(url: string): Promise<EvictionProblem[]> {
    const problems: EvictionProblem[] = [];
    await using redis = await observedConnection(url, { onEvictionProblem: (problem) => problems.push(problem) });
    // It is asked before this, on the same connection.
    await redis.getBuffer('key').catch(() => {});
    await new Promise(setImmediate);
    return problems;
  }

  test.each([
    ['given once if Redis has no maxmemory', [], ['no-maxmemory']],
    [
      'given once if Redis has a maxmemory and evicts nothing',
      [...BOUND, '--maxmemory-policy', 'noeviction'],
      ['noeviction'],
    ],
    ['not given if Redis has a maxmemory and evicts any key', [...BOUND, '--maxmemory-policy', 'allkeys-lru'], []],
    [
      'not given if Redis has a maxmemory and evicts keys with a lifetime',
      [...BOUND, '--maxmemory-policy', 'volatile-ttl'],
      [],
    ],
  ])('is %s', async (_, args, problems) => {
    await using server = await startRedis({ args });
    expect(await problemsOf(server.url)).toEqual(problems);
  });

  test('is given for a Cluster too, but not if the user may not read the setting', async () => {
    await using cluster = await startRedisCluster({
      masters: 1,
      args: ['--user', 'shy', 'on', 'nopass', '~*', '&*', '+@all', '-info'],
    });
    await using redis = await observedConnection(cluster.url);
    expect(redis.transitions).toEqual([{ state: 'connected' }]);
    expect(await problemsOf(cluster.url)).toEqual(['no-maxmemory']);
    expect(await problemsOf(cluster.urlFor('shy'))).toEqual([]);
  });
});
