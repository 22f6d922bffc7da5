import type { Redis } from 'ioredis';
import { describe, expect, inject, test } from 'vitest';
import { systemNames } from '../../src/names/names.ts';
import { openClient } from '../../src/redis/open-client.ts';
import { parseRedisUrl } from '../../src/redis/redis-url.ts';
import { type ObservedConnection, observedConnection, putBytes } from '../support/connected-redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
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
