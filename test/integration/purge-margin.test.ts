import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EVERY_ENTRY } from '../../src/purge/purge-records.ts';
import { anEntry } from '../support/entry.ts';
import { a, all, connect, DAY, type Instance, PurgeServer } from './purge-instance.ts';

let shared: PurgeServer;

beforeAll(async () => {
  shared = await PurgeServer.start();
});
afterAll(() => shared[Symbol.asyncDispose]());
afterEach(() => shared.clear());

/** One instance whose clock is that of Redis, and one whose clock is ahead of it by less than clocks may differ. */
function twoClocks(): [right: Instance, ahead: Instance] {
  shared.newNetwork();
  const [right, ahead] = [shared.anInstance(), shared.anInstance()];
  ahead.now = () => Date.now() + 4;
  return [right, ahead];
}

/** Returns the time of Redis at which it took the next purge of an instance, or was next looked at. */
function timeOfRedis(instance: Instance): () => number {
  let firstAt = 0;
  instance.onReply = (reply) => {
    if (Array.isArray(reply)) firstAt ||= Number(reply[0]);
  };
  return () => firstAt;
}

describe('a purge', () => {
  it.each([
    ['hard', a],
    ['soft', { ...a, soft: true }],
    ['soft', { tag: EVERY_ENTRY, soft: true }],
  ])(
    'that is %s covers what was asked for just before it by a clock 4 ms ahead, and nothing from 6 ms after it',
    async (_, purge) => {
      const [right, ahead] = twoClocks();
      const acceptedAt = timeOfRedis(right);
      await right.log.purge(purge);
      await connect(ahead);
      const freshUntil = acceptedAt() + DAY;
      for (const { records } of [right, ahead]) {
        const before = anEntry({ key: purge.tag, askedAt: acceptedAt() + 4, freshUntil });
        const left = records.applyBans(before);
        if (purge.soft) expect(left?.freshUntil).toBeLessThan(freshUntil);
        else expect(left).toBeUndefined();
        expect(records.purgedUntil(before)).toBeGreaterThanOrEqual(before.askedAt);
        const after = anEntry({ key: purge.tag, askedAt: acceptedAt() + 6, freshUntil });
        expect(records.applyBans(after)).toBe(after);
        expect(records.purgedUntil(after)).toBeLessThan(after.askedAt);
      }
    },
  );

  it('that Redis lost covers again what was asked for up to its return', async () => {
    const [right, ahead] = twoClocks();
    await right.log.purge(a);
    await shared.redis.flushall();
    const returnedAt = timeOfRedis(right);
    await connect(right);
    await connect(ahead);
    for (const { records } of [right, ahead]) {
      expect(records.applyBans(anEntry({ key: 'a', askedAt: returnedAt() + 4 }))).toBeUndefined();
    }
  });

  it('of all has no margin, because it changes every key', async () => {
    const [right] = twoClocks();
    const acceptedAt = timeOfRedis(right);
    await right.log.purge(all);
    expect(right.records.epoch).toBe(acceptedAt());
  });
});
