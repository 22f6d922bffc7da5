import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { contentOf, type Entry, ownedBytes } from '../../src/cache/entry.ts';
import { COPY_BYTES, encodeEntry } from '../../src/cache/entry-codec.ts';
import { keptBody } from '../../src/cache/gzip.ts';
import { connectedRedis } from '../support/connected-redis.ts';
import { anEntry } from '../support/entry.ts';
import { ObservedRedisTier } from '../support/observed-redis-tier.ts';

const url = inject('redisUrl');
const redis = new Redis(url);
afterAll(() => redis.disconnect());

const entry = () => anEntry({ askedAt: Date.now(), body: Buffer.from('{"transactions":[{"lt":"1"}]}'.repeat(100)) });

/** A tier of a budget that no noise of the machine can exceed, holding `stored`, and the one Redis key it made. */
async function tierWith(stored = entry(), options: ConstructorParameters<typeof ObservedRedisTier>[1] = {}) {
  const subject = new ObservedRedisTier(url, { budgetMs: 5000, ...options });
  await subject.untilConnection('connected');
  await subject.tier.set(stored);
  const [redisKey = ''] = await redis.keys(`${subject.keyPrefix}*`);
  return { subject, stored, redisKey };
}

test('a stalled event loop is not taken for a slow Redis', async () => {
  const stored = anEntry({ askedAt: Date.now() });
  await using observed = new ObservedRedisTier(url, { budgetMs: 50 });
  await observed.untilConnection('connected');
  await observed.tier.set(stored);
  const reads = Array.from({ length: 10 }, () => observed.tier.get(stored.key));
  // Redis answers into the socket meanwhile, and every budget has ended before the loop turns again.
  for (const stallEndsAt = performance.now() + 200; performance.now() < stallEndsAt; );
  expect(await Promise.all(reads)).toMatchObject(reads.map(() => ({ state: 'found', entry: stored })));
});

describe('a closed connection', () => {
  test('is closed at the server too', async () => {
    const connection = await connectedRedis(`${url}/7`);
    const clients = async () =>
      ((await redis.client('LIST')) as string).split('\n').filter((line) => /\bdb=7\b/.test(line));
    expect(await clients()).toHaveLength(1);
    await connection.close();
    expect(await clients()).toHaveLength(0);
  });
});

describe('a read by a caller that has a copy of the entry', () => {
  async function withCopy() {
    const { subject, stored, redisKey } = await tierWith();
    const { checksum = 0 } = (await subject.tier.set(stored)) ?? {};
    const copy = { entry: stored, checksum };
    const value = (await redis.getBuffer(redisKey)) ?? Buffer.alloc(0);
    return { subject, stored, redisKey, value, copy };
  }

  test('finds the copy while Redis holds the same bytes', async () => {
    const { subject, stored, copy } = await withCopy();
    await using tested = subject;
    const read = await tested.tier.get(stored.key, copy);
    expect(read.state === 'found' && read.entry).toBe(stored);
    expect(tested.count('redis-read', 'found')).toBe(1);
  });

  test.each<[string, Partial<Entry>]>([
    ['in its body', { content: contentOf(ownedBytes(Buffer.from('{"transactions":[1]}'))) }],
    ['in its instants', { staleIfError: entry().staleIfError + 60_000 }],
  ])(
    'brings the whole entry if Redis holds another one that was asked for at the same instant: %s',
    async (_, change) => {
      const { subject, stored, redisKey, copy } = await withCopy();
      await using tested = subject;
      const other = { ...stored, ...change };
      await redis.set(redisKey, encodeEntry(other, keptBody(other.content)));
      expect(await tested.tier.get(stored.key, copy)).toMatchObject({ state: 'found', entry: other });
    },
  );

  test('brings the whole entry if the copy was asked for at another instant', async () => {
    const { subject, stored, copy } = await withCopy();
    await using tested = subject;
    const earlier = { ...stored, askedAt: stored.askedAt - 1 };
    const read = await tested.tier.get(stored.key, { ...copy, entry: earlier });
    expect(read).toMatchObject({ state: 'found', entry: stored });
  });

  test.each<[string, (value: Buffer) => Buffer | undefined]>([
    ['gone', () => undefined],
    ['cut short', (value) => value.subarray(0, COPY_BYTES - 1)],
    ['of another version', (value) => Buffer.concat([value.subarray(0, 3), Buffer.from([99]), value.subarray(4)])],
  ])('finds nothing if the value in Redis is %s', async (_, change) => {
    const { subject, stored, redisKey, value, copy } = await withCopy();
    await using tested = subject;
    const changed = change(value);
    await (changed === undefined ? redis.del(redisKey) : redis.set(redisKey, changed));
    expect(await tested.tier.get(stored.key, copy)).toMatchObject({ state: 'absent' });
  });
});
