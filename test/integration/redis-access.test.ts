import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { systemNames } from '../../src/names/names.ts';
import { openClient } from '../../src/redis/open-client.ts';
import { parseRedisUrl } from '../../src/redis/redis-url.ts';
import { type ObservedConnection, observedConnection, putBytes } from '../support/connected-redis.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import { startRedis } from '../support/redis-server.ts';
import { LEAST_RIGHTS, redisUser } from '../support/redis-user.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';

const certificate = selfSignedCertificate('redis', '127.0.0.1');
const USER = redisUser(LEAST_RIGHTS);

async function works(redis: ObservedConnection): Promise<void> {
  expect(redis.transitions).toEqual([{ state: 'connected' }]);
  await putBytes(redis, 'toncache:key', Buffer.from('value'));
  expect(String(await redis.getBuffer('toncache:key'))).toBe('value');
  expect(await redis.runScript(`return #redis.call('TIME')`, ['toncache:key'], [])).toBe(2);
}

describe('TLS', () => {
  test("is used if the server's certificate is signed by our authority; otherwise the connection is refused", async () => {
    await using server = await startRedis({ certificate });
    await using trusting = await observedConnection(server.url, { tlsCa: certificate.cert });
    await works(trusting);
    await using wary = await observedConnection(server.url);
    expect(wary.transitions).toEqual([{ state: 'disconnected', reason: expect.stringMatching(/self.signed/) }]);
    const another = selfSignedCertificate('redis', '127.0.0.1');
    await using mistaken = await observedConnection(server.url, { tlsCa: another.cert });
    expect(mistaken.transitions).toEqual([{ state: 'disconnected', reason: expect.stringMatching(/self.signed/) }]);
  });

  test('needs a certificate with the name of the host', async () => {
    await using server = await startRedis({ certificate: selfSignedCertificate('elsewhere', '127.0.0.2') });
    await using redis = await observedConnection(server.url, { tlsCa: certificate.cert });
    expect(redis.transitions).toMatchObject([{ state: 'disconnected' }]);
  });
});

describe('a user and a password', () => {
  test.each([
    ['a server', () => startRedis({ args: USER }), 'redis://'],
    ['a Cluster', () => startRedisCluster({ masters: 1, args: USER }), 'redis-cluster://'],
  ])('that are wrong for %s are reported without the password', async (_, start, scheme) => {
    await using server = await start();
    await using redis = await observedConnection(server.url.replace(scheme, `${scheme}toncache:hunter2@`));
    expect(redis.transitions).toEqual([{ state: 'disconnected', reason: expect.stringContaining('WRONGPASS') }]);
    expect(JSON.stringify(redis.transitions)).not.toContain('hunter2');
    const failure = await redis.getBuffer('toncache:key').catch((error: Error) => error);
    expect(String(failure)).toContain('not connected');
  });
});

test('a socket that fails twice does not end the process', async () => {
  const client = openClient({
    names: systemNames(),
    address: parseRedisUrl('redis://127.0.0.1:1'),
    tlsCa: undefined,
    connectTimeoutMs: 500,
    commandTimeoutMs: 500,
  }) as Redis;
  await new Promise((resolve) => client.once('error', resolve));
  // Without a listener this throws.
  client.stream.emit('error', new Error('an alert after the refusal'));
  client.disconnect();
});

test('a connection to a database that does not exist fails, and never uses another database', async () => {
  await using redis = await observedConnection(`${inject('redisUrl')}/9999`);
  await expect(redis.runScript('return 1', ['key'], [])).rejects.toThrow('not connected');
  await redis.ready();
  expect(redis.transitions).toEqual([{ state: 'disconnected', reason: 'ERR DB index is out of range' }]);
});

describe('a Cluster', () => {
  /** On a busy machine a slow Redis is not a failed one. */
  const PATIENT = { connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 };

  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
  });

  afterAll(() => cluster[Symbol.asyncDispose]());

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
      const replies = await Promise.all(
        keys.map((key) => redis.runScript(script, [key, `${key}:beside`], [bytes, 12])),
      );
      for (const reply of replies) expect(reply).toEqual([bytes, 7, [Buffer.from('12')], null]);
    }
  });

  test('a script with keys of two slots is refused', async () => {
    await using redis = await observedConnection(cluster.url, PATIENT);
    await expect(redis.runScript('return 1', ['{0}', '{1}'], [])).rejects.toThrow('slot');
  });
});

describe('sentinels', () => {
  test('the primary that sentinels name is used', async () => {
    await using redis = await startRedisSentinels();
    await using connection = await observedConnection(redis.url);
    expect(connection.transitions).toEqual([{ state: 'connected' }]);
    await putBytes(connection, 'key', Buffer.from('value'));
    expect(String(await connection.getBuffer('key'))).toBe('value');
    await using direct = await observedConnection(redis.primary.url);
    expect(String(await direct.getBuffer('key'))).toBe('value');
  });

  test('the user of the URL is for the servers, that of the parameters for the sentinels, and TLS for both', async () => {
    const certificate = selfSignedCertificate('redis', '127.0.0.1');
    await using redis = await startRedisSentinels({
      args: ['--user', 'toncache', 'on', '>of-servers', '~*', '&*', '+@all'],
      sentinelConfig: ['user watcher on >of-sentinels ~* &* +@all'],
      certificate,
    });
    const url = redis.urlFor('toncache:of-servers', '&sentinelUsername=watcher&sentinelPassword=of-sentinels');
    await using connection = await observedConnection(url, { tlsCa: certificate.cert });
    expect(connection.transitions).toEqual([{ state: 'connected' }]);
    await putBytes(connection, 'key', Buffer.from('value'));

    const wrong = redis.urlFor('toncache:of-servers', '&sentinelUsername=watcher&sentinelPassword=wr0ng-secret');
    await using refused = await observedConnection(wrong, { tlsCa: certificate.cert });
    expect(refused.transitions).toEqual([{ state: 'disconnected', reason: expect.stringContaining('WRONGPASS') }]);
    expect(JSON.stringify(refused.transitions)).not.toContain('wr0ng-secret');
    await expect(refused.getBuffer('key')).rejects.toThrow('not connected');
  });

  test('unreachable sentinels are reported, and the connection can be closed immediately', async () => {
    await using redis = await observedConnection('redis-sentinel://127.0.0.1:1,127.0.0.1:2?name=primary');
    expect(redis.transitions).toEqual([
      { state: 'disconnected', reason: expect.stringMatching(/^All sentinels are unreachable: ./) },
    ]);
  });
});
