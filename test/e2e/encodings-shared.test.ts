import { crc32 } from 'node:zlib';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { AT } from '../../src/cache/entry-codec.ts';
import { SCHEMA_VERSION } from '../../src/cache/redis-keys.ts';
import { accepting, decoded, encodingOf, WITH_REDIS } from './encoded-answers.ts';
import { newestBlock, parentOfSettled } from './questions.ts';
import { World } from './world.ts';

let world: World;
afterEach(() => world[Symbol.asyncDispose]());
const encoded = (proxy = world.proxy) => proxy.metric('bodiesCompressed');

describe('with compression off', () => {
  it('all answers are sent unchanged', async () => {
    world = await World.start({ ...WITH_REDIS, proxy: { env: { COMPRESSION: 'off' } } });
    const target = parentOfSettled(world);
    const { text } = await world.askIndexer(target);
    for (let time = 0; time < 3; time++) {
      const reply = await world.ask(target, accepting('gzip'));
      expect([encodingOf(reply), reply.text]).toEqual([undefined, text]);
      expect(reply.headers.vary).toBe('X-No-Address-Book');
    }
    expect(await encoded()).toBe(0);
  });
});

describe('with Redis', () => {
  beforeEach(async () => {
    world = await World.start(WITH_REDIS);
  });

  it('another instance sends the encoded body from Redis without encoding it again', async () => {
    const target = parentOfSettled(world);
    const { text } = await world.ask(target, accepting('gzip'));
    await world.proxy.untilRedisHasAll();
    const other = await world.addProxy();
    const reply = await world.ask(target, accepting('gzip'), other);
    expect(reply.cache).toMatchObject({ hit: true, detail: 'redis' });
    expect([encodingOf(reply), decoded(reply)]).toEqual(['gzip', text]);
    expect((await world.ask(target, accepting('gzip'), other)).digest).toBe(reply.digest);
    expect([await encoded(), await encoded(other)]).toEqual([1, 0]);
  });

  it('a body with a correct checksum that cannot be decompressed causes a 500 and affects no other answer', async () => {
    const target = parentOfSettled(world);
    await world.ask(target, accepting('gzip'));
    await world.proxy.untilRedisHasAll();
    await replaceBody(world.network);
    const other = await world.addProxy();
    for (let time = 0; time < 3; time++) expect((await world.ask(target, {}, other)).status).toBe(500);
    expect((await world.ask(newestBlock(world), {}, other)).status).toBe(200);
  });
});

/** Replaces the encoded body of the one entry of a network in Redis by rubbish, under a correct checksum. */
async function replaceBody(network: string): Promise<void> {
  const redis = new Redis(inject('redisUrl'));
  const keys = await redis.keys(`toncache:${SCHEMA_VERSION}:${network}:*`);
  for (const key of keys) {
    const bytes = await redis.getBuffer(key);
    const bodyAt = bytes?.indexOf(Buffer.from([0x1f, 0x8b, 0x08])) ?? -1;
    if (bytes === null || bodyAt < 0) continue;
    bytes.fill(0x5a, bodyAt);
    bytes.writeUInt32BE(crc32(bytes.subarray(AT.metaLength)), AT.checksum);
    await redis.set(key, bytes, 'KEEPTTL');
  }
  redis.disconnect();
}
