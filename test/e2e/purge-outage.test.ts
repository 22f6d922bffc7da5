import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chain } from '../../src/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../src/simulator/indexer.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';
import { ask, LASTING, PATIENT, purge, purged, untilFollowed } from './purge-requests.ts';
import { targetOf } from './questions.ts';

let redis: RedisServer;
let indexer: Indexer;
let proxies: RunningProxy[];
let seqno: number;

async function addProxy(now?: () => number): Promise<RunningProxy> {
  const proxy = await startProxy({
    upstreamUrl: indexer.url,
    env: { REDIS_URL: redis.url },
    ...(now && { now }),
    overrides: {
      redis: PATIENT,
      // On a busy machine the requests for one key can come more than the default of 1 s apart.
      coalescing: { failureTtl: 0, collapseWindow: 60_000 },
      lifetimes: { adjacentLive: LASTING, pendingLive: LASTING, pendingFinalized: LASTING, empty: LASTING },
    },
  });
  proxies.push(proxy);
  return proxy;
}

beforeEach(async () => {
  redis = await startRedis();
  // On the real clock, as Redis is: a history of a minute.
  const startAt = Date.now() - 60_000;
  indexer = await startIndexer({ dialect: '1.3', chain: new Chain({ startAt }), now: Date.now });
  seqno = indexer.chain.headSeqno - 20;
  proxies = [];
});
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await indexer.close();
  await redis.stop();
});

const blockSet = (more: Readonly<Record<string, string>> = {}) =>
  targetOf('masterchainBlockShards', { seqno, ...more });

describe('while Redis is away', () => {
  it('this instance is purged, the answer says that the others are not, and they follow when Redis is back', async () => {
    const [one, other] = [await addProxy(), await addProxy()];
    const target = blockSet();
    for (const proxy of [one, other]) await ask(proxy, target);
    await redis.kill();
    await expect.poll(() => one.log.some(({ msg }) => msg === 'no connection to Redis')).toBe(true);
    const { status, text } = await purge(one, { seqno });
    expect(status).toBe(503);
    expect(JSON.parse(text).error).toMatch(/^this instance is purged, but Redis did not accept the purge \(.+repeat the purge/);
    expect((await ask(one, target)).cache).toMatchObject({ fwd: 'miss' });
    expect((await ask(other, target)).cache).toMatchObject({ hit: true });
    await redis.restart();
    await untilFollowed(other);
    expect((await ask(other, target)).cache).toMatchObject({ fwd: 'miss' });
  });

  it('an answer that was requested before a purge and stored after it is not served', async () => {
    const one = await addProxy();
    const target = blockSet();
    await ask(one, target);
    await one.untilRedisHasAll();
    const client = new Redis(redis.url);
    const [key = ''] = await client.keys('toncache:*{*');
    const bytes = await client.getBuffer(key);
    await purged(one, { seqno });
    // What an instance that knows nothing of it writes.
    await client.set(key, bytes ?? '');
    client.disconnect();
    expect((await ask(one, target)).cache).toMatchObject({ fwd: 'miss', stored: true });
    const late = await addProxy();
    await one.untilRedisHasAll();
    expect((await ask(late, target)).cache).toMatchObject({ hit: true, detail: 'redis' });
    expect(indexer.requests.total).toBe(2);
  });
});
