import { expect, test } from 'vitest';
import { observedConnection, putBytes } from '../support/connected-redis.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';

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
