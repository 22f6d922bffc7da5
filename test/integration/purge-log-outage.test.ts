import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { a, all, connect, DAY, known, PurgeServer } from './purge-instance.ts';

let shared: PurgeServer;

beforeAll(async () => {
  shared = await PurgeServer.start();
});
afterAll(() => shared[Symbol.asyncDispose]());
afterEach(() => shared.clear());

describe('while Redis is away', () => {
  it('a purge is applied here, reports that Redis did not take it, and reaches the others afterwards', async () => {
    shared.newNetwork();
    const [cut, other] = [shared.anInstance(), shared.anInstance({ polls: true })];
    await connect(cut);
    cut.isReached = false;
    const before = Date.now();
    const outcome = await cut.log.purge(a);
    expect(outcome).toEqual({ at: cut.records.atOf(a), notReached: 'away' });
    expect(other.records.atOf(a)).toBeUndefined();
    cut.isReached = true;
    await connect(cut);
    // Entries requested by instances that did not know of the purge yet are purged too.
    await expect.poll(() => other.records.atOf(a)).toBeGreaterThanOrEqual(before);
    await expect.poll(() => known(other)).toEqual(known(cut));
  });

  it.each([all, a])('a purge whose replies are lost counts as one, however often it is sent: $tag', async (purge) => {
    shared.newNetwork();
    const [unheard, other] = [shared.anInstance(), shared.anInstance()];
    unheard.isAnswered = false;
    expect((await unheard.log.purge(purge)).notReached).toBe('lost');
    await connect(other);
    const at = other.records.atOf(purge);
    expect(at).toBeDefined();
    for (let time = 0; time < 3; time++) unheard.log.onConnected();
    unheard.isAnswered = true;
    await connect(unheard);
    await connect(other);
    expect([unheard, other].map(({ records }) => records.atOf(purge))).toEqual([at, at]);
  });

  it('a purge by a clock that is far ahead does not cover what is requested long after it', async () => {
    shared.newNetwork();
    const [wrong, other] = [shared.anInstance(), shared.anInstance()];
    wrong.now = () => Date.now() + DAY;
    wrong.isReached = false;
    for (const purge of [a, all]) await wrong.log.purge(purge);
    wrong.isReached = true;
    await connect(wrong);
    await connect(other);
    expect(known(wrong)).toEqual(known(other));
    for (const { at } of known(wrong)) expect(at).toBeLessThan(Date.now() + 61_000);
  });

  it('a purge of all by a Redis whose clock was far ahead is applied once, at one instant for all', async () => {
    shared.newNetwork();
    const knew = [shared.anInstance(), shared.anInstance()];
    const wrongAt = Date.now() + DAY;
    for (const { records } of knew) records.apply({ ...all, at: wrongAt });
    await shared.redis.zadd(shared.key, wrongAt, 'hard *');
    const learns = shared.anInstance();
    const instances = [...knew, learns];
    for (let look = 0; look < 5; look++) for (const instance of instances) await connect(instance);
    // Entries stored before are unusable, and none stored since is lost.
    expect(instances.map(({ onEpoch }) => onEpoch.mock.calls.length)).toEqual([2, 2, 1]);
    expect(learns.events.filter(({ name }) => name === 'purges-followed')).toHaveLength(1);
    const [epoch = 0, ...others] = instances.map(({ records }) => records.epoch);
    expect(others).toEqual([epoch, epoch]);
    expect(Math.abs(epoch - Date.now())).toBeLessThan(60_000);
    expect(Number(await shared.redis.zscore(shared.key, 'hard *'))).toBe(epoch);
  });

  it('purges of other instances are applied when it is back, however long that took', async () => {
    shared.newNetwork();
    const [cut, other] = [shared.anInstance(), shared.anInstance()];
    await connect(cut);
    await other.log.purge(a);
    // As if it had looked last an hour after that, and the purge had come late.
    await shared.redis.zadd(shared.key, Date.now() - 3_600_000, 'hard late');
    await connect(cut);
    expect(cut.records.atOf(a)).toBe(other.records.atOf(a));
    expect(cut.records.atOf({ tag: 'late', soft: false })).toBeDefined();
  });

  it('entries in Redis are not used, from the first failure on and before the first poll', async () => {
    shared.newNetwork();
    const one = shared.anInstance({ polls: true });
    expect(one.log.isCurrent).toBe(false);
    await connect(one);
    one.isReached = false;
    await expect.poll(() => one.log.isCurrent).toBe(false);
    await expect.poll(() => one.events.filter(({ name }) => name === 'purges-available')).toHaveLength(1);
    one.isReached = true;
    await expect.poll(() => one.log.isCurrent).toBe(true);
    expect(one.events).toEqual([
      { name: 'purges-available', available: false, reason: 'away' },
      { name: 'purges-available', available: true, reason: undefined },
    ]);
    one.log.onDisconnected();
    expect(one.log.isCurrent).toBe(false);
  });

  it('a start waits for the first poll no longer than the limit, and not at all once it failed', async () => {
    shared.newNetwork();
    const [late, refused, looked] = [shared.anInstance(), shared.anInstance(), shared.anInstance()];
    await late.log.ready(1);
    expect(late.log.isCurrent).toBe(false);
    const waiting = [refused.log.ready(DAY), looked.log.ready(DAY)];
    refused.log.onDisconnected();
    looked.log.onConnected();
    await Promise.all(waiting);
    expect([refused.log.isCurrent, looked.log.isCurrent]).toEqual([false, true]);
  });
});

describe('a Redis that takes no writes', () => {
  it('still delivers the purges of others, and takes the record when it can', async () => {
    shared.newNetwork();
    await shared.redis.zadd(shared.key, Date.now(), 'hard theirs');
    const one = shared.anInstance();
    await shared.redis.config('SET', 'maxmemory', '1');
    try {
      await connect(one);
      expect(known(one).map(({ tag }) => tag)).toEqual(['theirs']);
      expect((await one.log.purge(a)).notReached).toMatch(/^OOM/);
    } finally {
      await shared.redis.config('SET', 'maxmemory', '0');
    }
    await connect(one);
    expect(await shared.redis.zscore(shared.key, 'hard a')).not.toBeNull();
  });
});
