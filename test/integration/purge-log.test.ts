import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PurgeLog } from '../../src/purge/purge-log.ts';
import { type PurgeRecord, PurgeRecords } from '../../src/purge/purge-records.ts';
import { readExchanged } from '../../src/purge/purge-script.ts';
import { a, all, connect, DAY, known, PurgeServer } from './purge-instance.ts';

const b: Omit<PurgeRecord, 'at'> = { tag: 'b', soft: true };

let shared: PurgeServer;

beforeAll(async () => {
  shared = await PurgeServer.start();
});
afterAll(() => shared[Symbol.asyncDispose]());
afterEach(() => shared.clear());

describe('a purge', () => {
  it('is applied by the other instances, with one instant for all', async () => {
    shared.newNetwork();
    const [one, other] = [shared.anInstance(), shared.anInstance({ polls: true })];
    for (const purge of [a, b, all]) {
      const { at, notReached } = await one.log.purge(purge);
      expect(notReached).toBeUndefined();
      await expect.poll(() => other.records.atOf(purge)).toBe(at);
    }
    expect(known(other)).toEqual(known(one));
    expect(other.events.filter(({ name }) => name === 'purges-followed')).toHaveLength(3);
    expect(one.events).toEqual([]);
  });

  it('is dated by the later of the clocks of Redis and of this process', async () => {
    shared.newNetwork();
    const [behind, ahead] = [shared.anInstance(), shared.anInstance()];
    behind.now = () => Date.now() - 5_000;
    ahead.now = () => Date.now() + 5_000;
    const before = Date.now();
    expect((await behind.log.purge(a)).at).toBeGreaterThanOrEqual(before);
    expect((await ahead.log.purge(a)).at).toBeGreaterThanOrEqual(before + 5_000);
  });

  it('of all raises the epoch each time, whatever the clock shows', async () => {
    shared.newNetwork();
    const [one, other] = [shared.anInstance(), shared.anInstance()];
    const first = await one.log.purge(all);
    other.now = () => Date.now() - 5_000;
    const second = await other.log.purge(all);
    expect(second.at).toBeGreaterThan(first.at);
  });

  it('counts for this process alone when there is no Redis', async () => {
    const records = new PurgeRecords({ tagsOf: () => [], onEpoch: () => {}, now: () => 1000 });
    const log = new PurgeLog(
      { records, runScript: undefined, now: () => 1000, report: () => {} },
      { key: 'unused', usableMs: 0 },
    );
    await log.ready(DAY);
    expect(await log.purge(a)).toEqual({ at: 1000, notReached: undefined });
    expect(records.atOf(a)).toBe(1000);
  });
});

describe('many purges', () => {
  it('at the same time each send and receive only their own record', async () => {
    shared.newNetwork();
    const one = shared.anInstance();
    await shared.redis.zadd(
      shared.key,
      ...Array.from({ length: 500 }, (_, index) => [`${Date.now() - 1000}`, `hard t${index}`]).flat(),
    );
    const sizes: number[] = [];
    one.onReply = (reply) => {
      if (Array.isArray(reply)) sizes.push(reply[4].length);
    };
    await Promise.all(Array.from({ length: 50 }, (_, index) => one.log.purge({ tag: `mine${index}`, soft: false })));
    expect(sizes).toEqual(Array(50).fill(2));
  });

  it('that could not be sent to Redis are sent later, a thousand at a time', async () => {
    shared.newNetwork();
    const one = shared.anInstance({ polls: true });
    one.isReached = false;
    for (let index = 0; index < 2500; index++) await one.log.purge({ tag: `t${index}`, soft: false });
    const sent: number[] = [];
    one.onCall = (args) => void sent.push((args.length - 3) / 3);
    one.isReached = true;
    await expect.poll(() => shared.redis.zcard(shared.key)).toBe(2500);
    expect(Math.max(...sent)).toBeLessThanOrEqual(1001);
  });

  it('are applied when the clock of Redis was set back meanwhile', async () => {
    shared.newNetwork();
    const one = shared.anInstance();
    await shared.redis.zadd(shared.key, Date.now() - 3_600_000, 'hard again');
    await connect(one);
    // One more purge of the same, by the clock of a server that is half an hour behind.
    await shared.redis.zadd(shared.key, Date.now() - 1_800_000, 'hard again');
    one.onReply = (reply) => {
      if (Array.isArray(reply)) reply[0] = Date.now() - 1_799_000;
    };
    one.log.onConnected();
    await expect.poll(() => one.records.atOf({ tag: 'again', soft: false })).toBeGreaterThan(Date.now() - 3_000_000);
  });
});

describe('purges that Redis lost', () => {
  it.each([
    ['everything', () => shared.redis.flushall()],
    ['what was written last', () => shared.redis.zrem(shared.key, 'hard last')],
    ['a later instant', () => shared.redis.zadd(shared.key, Date.now() - 1000, 'hard last')],
  ])('are given back by any instance: %s', async (_, lose) => {
    shared.newNetwork();
    const one = shared.anInstance();
    for (const purge of [all, a, b, { tag: 'last', soft: false }]) await one.log.purge(purge);
    const { epoch } = one.records;
    await lose();
    await connect(one);
    const late = shared.anInstance();
    await connect(late);
    await expect.poll(() => known(late)).toEqual(known(one));
    expect(known(late)).toHaveLength(4);
    // Or all would be purged once more.
    expect(late.records.epoch).toBe(epoch);
  });

  it('are given back once', async () => {
    shared.newNetwork();
    const one = shared.anInstance();
    await one.log.purge(a);
    await shared.redis.flushall();
    for (let time = 0; time < 3; time++) await connect(one);
    const at = one.records.atOf(a);
    for (let time = 0; time < 3; time++) await connect(one);
    expect(one.records.atOf(a)).toBe(at);
  });

  it('become known to two instances that were cut off from each other', async () => {
    shared.newNetwork();
    const [one, other] = [shared.anInstance(), shared.anInstance()];
    await one.log.purge(a);
    await shared.redis.flushall();
    await other.log.purge(b);
    for (const instance of [one, other, one]) await connect(instance);
    expect(known(one)).toEqual(known(other));
    expect(known(one)).toHaveLength(2);
  });

  it('are given back in several exchanges when they do not fit into one', async () => {
    shared.newNetwork();
    const one = shared.anInstance();
    const now = Date.now();
    for (let index = 0; index < 2500; index++) one.records.apply({ tag: `t${index}`, soft: false, at: now });
    await connect(one);
    expect(await shared.redis.zcard(shared.key)).toBe(2500);
  });
});

describe('records', () => {
  it('are kept an hour longer than any entry, 25 h at least, and the epoch for ever', async () => {
    shared.newNetwork();
    const [short, long] = [shared.anInstance(), shared.anInstance({ usableMs: 2 * DAY })];
    const now = Date.now();
    const HOUR = 3_600_000;
    await shared.redis.zadd(
      shared.key,
      ...['7', 'hard *', `${now - 48.9 * HOUR}`, 'hard old', `${now - 49.1 * HOUR}`, 'hard older'],
    );
    await connect(long);
    expect(known(long).map(({ tag }) => tag)).toEqual(['*', 'old']);
    await shared.redis.zadd(shared.key, `${now - 24.9 * HOUR}`, 'hard young');
    await connect(short);
    expect(known(short).map(({ tag }) => tag)).toEqual(['*', 'young']);
    expect(await shared.redis.zrange(shared.key, '0', '-1')).toEqual(['hard *', 'hard young']);
  });

  it('from a clock far ahead, and garbage, are ignored', async () => {
    shared.newNetwork();
    await shared.redis.zadd(
      shared.key,
      ...[`${Date.now() + DAY}`, 'hard ahead', '+inf', 'hard infinite', `${Date.now()}`, 'garbage'],
    );
    const one = shared.anInstance();
    await connect(one);
    expect(known(one)).toEqual([]);
  });

  it('are not read from a reply of unexpected form', () => {
    const nulls = [null, null, null, null, []];
    const wrong = [
      ['1', 1, '', '0', []],
      [1, Number.NaN, '', '0', []],
      [1, 1, '', 'x', []],
      [1, 1, '', '0', null],
    ];
    for (const reply of [null, 'OK', [], nulls, ...wrong]) {
      expect(() => readExchanged(reply)).toThrow('no purge records');
    }
  });

  it('are not read from a key of another type, and entries in Redis are then not used', async () => {
    shared.newNetwork();
    await shared.redis.set(shared.key, 'garbage');
    const one = shared.anInstance({ polls: true });
    one.log.onConnected();
    await expect.poll(() => one.events).toMatchObject([{ name: 'purges-available', available: false }]);
    expect((await one.log.purge(a)).notReached).toMatch(/WRONGTYPE/);
    expect(one.log.isCurrent).toBe(false);
  });
});
