import { expect, it, vi } from 'vitest';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';
import { GUARD_MS } from '../support/patience.ts';
import { startRedis } from '../support/redis-server.ts';
import { GarblingRedis } from './garbling-redis.ts';

const isGet = ([name]: readonly string[]) => name?.toUpperCase() === 'GET';

it.each([
  ['a push that begins with a null', '>1\r\n$-1\r\n', 'Cannot read properties of null'],
  ['one reply too many', '$-1\r\n$-1\r\n', 'Cannot read properties of null'],
  ['an unknown type', '&1\r\n', 'Unknown RESP type'],
])('a Redis that answers with %s costs one connection, which is opened again', async (_, bytes, reason) => {
  await using redis = await startRedis();
  await using garbling = await GarblingRedis.start(redis.port);
  await using observed = new ObservedRedisTier(garbling.url, { budgetMs: 5000 });
  await observed.untilRead('key', 'absent');
  garbling.garble({ bytes, isGarbled: isGet });
  await observed.tier.get('key');
  garbling.garble();
  await observed.untilConnection('connected', 'disconnected', 'connected');
  expect(observed.connectionTransitions[1]).toEqual({
    state: 'disconnected',
    reason: expect.stringContaining(`Redis broke the protocol: ${reason}`),
  });
  await observed.untilRead('key', 'absent');
});

it('a map in reply to a lease counts as no reply: no request waits for the lease', async () => {
  await using redis = await startRedis();
  await using garbling = await GarblingRedis.start(redis.port);
  await using observed = new ObservedRedisTier(garbling.url, { budgetMs: 5000 });
  await observed.untilRead('key', 'absent');
  garbling.garble({ bytes: '%1\r\n+a\r\n:1\r\n', isGarbled: ([name]) => name?.toUpperCase() === 'EVALSHA' });
  const request = { token: 'ours', leaseMs: 1000, budgetMs: 5000 };
  expect(await observed.tier.acquire('key', request)).toBeUndefined();
});

it('a Redis that breaks each connection at its first command is reconnected to at growing intervals', async () => {
  await using redis = await startRedis();
  await using garbling = await GarblingRedis.start(redis.port);
  const breaker = { faults: 1000, openMs: 1 };
  await using observed = new ObservedRedisTier(garbling.url, { budgetMs: 5000, breaker });
  await observed.untilRead('key', 'absent');
  garbling.garble({ bytes: '_\r\n_\r\n', isGarbled: isGet });
  const madeAt: number[] = [];
  await vi.waitFor(
    async () => {
      await observed.tier.get('key');
      if (garbling.connections > madeAt.length) madeAt.push(performance.now());
      expect(madeAt.length).toBeGreaterThanOrEqual(7);
    },
    { timeout: GUARD_MS, interval: 1 },
  );
  const [first = 0, , , , , , seventh = 0] = madeAt;
  expect(seventh - first).toBeGreaterThan(0.9 * (10 + 20 + 40 + 80 + 160));
});

it('a reply that never ends costs the connection, though other commands are sent in the meantime', async () => {
  await using redis = await startRedis();
  await using garbling = await GarblingRedis.start(redis.port);
  const breaker = { faults: 1000, openMs: 1 };
  await using observed = new ObservedRedisTier(garbling.url, { budgetMs: 5000, breaker });
  await observed.untilRead('key', 'absent');
  garbling.garble({
    bytes: `$${2 ** 40}\r\nabc`,
    isGarbled: (words) => isGet(words) && garbling.garbled === 0,
  });
  const asking = setInterval(() => void observed.tier.get('key'), 20);
  await observed.untilConnection('connected', 'disconnected', 'connected');
  clearInterval(asking);
  await observed.untilRead('key', 'absent');
});

it('a missing reply costs the connection, so that no later reply is taken for it', async () => {
  await using redis = await startRedis();
  await using garbling = await GarblingRedis.start(redis.port);
  await using observed = new ObservedRedisTier(garbling.url, { budgetMs: 5000 });
  await observed.untilRead('key', 'absent');
  // This reply never comes. If the reply to the next command were taken for it, all later replies would be off by one.
  garbling.garble({ bytes: '', isGarbled: isGet });
  await observed.tier.get('key');
  garbling.garble();
  await observed.untilConnection('connected', 'disconnected', 'connected');
  await observed.untilRead('key', 'absent');
});
