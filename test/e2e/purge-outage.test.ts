import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../src/cache/redis-keys.ts';
import { PurgeWorld, purge, purged, untilFollowed } from './purge-world.ts';

let world: PurgeWorld;

beforeEach(async () => {
  world = await PurgeWorld.start();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('a Redis that was restored', () => {
  it.each([{ all: true }, { seqno: true }])(
    'brings nothing back that was purged since its copy was made: %o',
    async (selector) => {
      const body = 'all' in selector ? selector : { seqno: world.seqno };
      const one = await world.addProxy();
      const target = world.blockSet();
      await one.reply(target);
      await one.untilRedisHasAll();
      const copy = await world.copyOfRedis();
      await purged(one, body);
      await world.restoreRedis(copy);
      // All instances know a purge after a second; a new one must know it once it answers from Redis.
      await expect.poll(() => one.log.filter(({ msg }) => msg === 'connected to Redis').length).toBe(2);
      const newcomer = await world.addProxy();
      for (const proxy of [newcomer, one]) {
        expect((await proxy.reply(target)).cache).toMatchObject({ fwd: 'miss' });
        await proxy.untilRedisHasAll();
        await world.restoreRedis(copy);
      }
    },
  );
});

describe('a purge and an unreliable Redis', () => {
  it('while Redis is away, this instance is purged, the answer reports that others are not, and they follow when it is back', async () => {
    const [one, other] = [await world.addProxy(), await world.addProxy()];
    const target = world.blockSet();
    for (const proxy of [one, other]) await proxy.reply(target);
    await world.redis.kill();
    await expect.poll(() => one.log.some(({ msg }) => msg.includes('Redis is unreachable'))).toBe(true);
    const { status, text } = await purge(one, { seqno: world.seqno });
    expect(status).toBe(503);
    expect(JSON.parse(text).error).toMatch(
      /^this instance is purged, but Redis did not accept the purge \(.+repeat the purge/,
    );
    expect((await one.reply(target)).cache).toMatchObject({ fwd: 'miss' });
    expect((await other.reply(target)).cache).toMatchObject({ hit: true });
    await world.redis.restart();
    await untilFollowed(other);
    expect((await other.reply(target)).cache).toMatchObject({ fwd: 'miss' });
  });

  it('an instance that cannot read the purges uses nothing that Redis holds', async () => {
    const one = await world.addProxy();
    const target = world.blockSet();
    await one.reply(target);
    await one.untilRedisHasAll();
    const client = new Redis(world.redis.url);
    await client.set('toncache:bans:mainnet', 'not a set');
    const blind = await world.addProxy();
    expect((await blind.reply(target)).cache).toMatchObject({ fwd: 'miss' });
    await client.del('toncache:bans:mainnet');
    client.disconnect();
    await expect
      .poll(async () => (await (await world.addProxy()).reply(target)).cache)
      .toMatchObject({ detail: 'redis' });
  });

  it('an answer that was requested before a purge and stored after it is not served', async () => {
    const one = await world.addProxy();
    const target = world.blockSet();
    await one.reply(target);
    await one.untilRedisHasAll();
    const client = new Redis(world.redis.url);
    const [key = ''] = await client.keys(`toncache:${SCHEMA_VERSION}:*`);
    const bytes = await client.getBuffer(key);
    await purged(one, { seqno: world.seqno });
    // The write of an instance that does not know about it.
    await client.set(key, bytes ?? '');
    client.disconnect();
    expect((await one.reply(target)).cache).toMatchObject({ fwd: 'miss', stored: true });
    const newcomer = await world.addProxy();
    await one.untilRedisHasAll();
    expect((await newcomer.reply(target)).cache).toMatchObject({ hit: true, detail: 'redis' });
    expect(world.asked).toBe(2);
  });
});
