import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { SCHEMA_VERSION } from '../../src/cache/redis-keys.ts';
import { Fleet, someChildren } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';

let fleet: Fleet;
let redis: Redis;

beforeEach(async () => {
  redis = new Redis(inject('redisUrl'));
  fleet = await Fleet.start(() => children('a', 'b'), { instances: 1 });
});
afterEach(async () => {
  redis.disconnect();
  await fleet[Symbol.asyncDispose]();
});

/** Lets the first instance store this many entries in Redis. */
async function fill(count: number): Promise<string[]> {
  const targets = Array.from({ length: count }, someChildren);
  for (let from = 0; from < count; from += 50) {
    await Promise.all(targets.slice(from, from + 50).map((target) => fleet.get(0).ask(target)));
  }
  await fleet.get(0).untilRedisHasAll();
  return targets;
}

const keysOf = (version: number) => redis.keys(`toncache:${version}:${fleet.network}:*`);

describe.each([SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])('next to instances of schema version %i', (version) => {
  const ofVersion = (key: string) => key.replace(`toncache:${SCHEMA_VERSION}:`, `toncache:${version}:`);

  it('entries of either version are misses for the other, and both stay', async () => {
    const [target = ''] = await fill(1);
    expect(await keysOf(version)).toEqual([]);
    const [ours = ''] = await keysOf(SCHEMA_VERSION);
    // The entry of the other version: only this one is there, under its own key.
    await redis.rename(ours, ofVersion(ours));
    const theirs = await redis.getBuffer(ofVersion(ours));
    const beside = await fleet.add();
    expect((await beside.ask(target)).headers['cache-status']).toBe('toncache; fwd=miss; fwd-status=200; stored');
    await beside.untilRedisHasAll();
    expect(fleet.asked).toBe(2);
    expect(await keysOf(SCHEMA_VERSION)).toEqual([ours]);
    expect(await keysOf(version)).toEqual([ofVersion(ours)]);
    expect(await redis.getBuffer(ofVersion(ours))).toEqual(theirs);
    expect((await (await fleet.add()).ask(target)).headers['cache-status']).toMatch(/detail=redis$/);
    expect(fleet.asked).toBe(2);
  });

  it('loads do not wait for loads of the other version, and its leases stay untouched', async () => {
    const [target = ''] = await fill(1);
    const [ours = ''] = await keysOf(SCHEMA_VERSION);
    await redis.del(ours);
    const lease = `${ofVersion(ours)}:lease`;
    await redis.set(lease, 'another', 'PX', 60_000);
    const beside = await fleet.add();
    expect((await beside.ask(target)).headers['cache-status']).toBe('toncache; fwd=miss; fwd-status=200; stored');
    expect(await beside.metric('leaseWaits')).toBe(0);
    expect(await redis.get(lease)).toBe('another');
    await redis.del(lease);
  });
});
