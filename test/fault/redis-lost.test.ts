import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { putBytes } from '../support/connected-redis.ts';
import { anEntry } from '../support/entry.ts';
import { meddlingProxy } from '../support/meddling-proxy.ts';
import { connectedRedis, ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { startRedis } from '../support/redis-server.ts';

const entry = () => anEntry({ askedAt: Date.now(), body: randomBytes(200_000) });

test('a connection that is reset in the middle of a reply fails that look-up only', async () => {
  await using redis = await startRedis();
  await using proxy = await meddlingProxy(redis.port);
  await using observed = new ObservedRedisTier(proxy.url, { budgetMs: 5000 });
  const stored = entry();
  await observed.untilConnection('connected');
  await observed.untilStored(stored);
  expect(await observed.tier.get(stored.key)).toMatchObject({ state: 'found', entry: stored });

  proxy.resetNextReplyAfterBytes(100_000);
  expect(await observed.tier.get(stored.key)).toEqual({ state: 'failed' });
  expect(await observed.untilRead(stored.key, 'found')).toMatchObject({ state: 'found', entry: stored });
  expect(observed.count('redis-read', 'corrupt')).toBe(0);
});

test('a reply that trickles in is waited for no longer than the command timeout', async () => {
  await using redis = await startRedis();
  await using proxy = await meddlingProxy(redis.port);
  const connection = await connectedRedis(proxy.url);
  await putBytes(connection, 'key', randomBytes(200_000));
  proxy.trickleNextReply();
  await expect(connection.getBuffer('key')).rejects.toThrow('timed out');
  await connection.close();
});
