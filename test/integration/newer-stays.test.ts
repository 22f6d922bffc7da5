import { expect, inject, test } from 'vitest';
import { ASKED_AT_OFFSET, decodeEntry, encodeEntry } from '../../src/cache/entry-codec.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { anEntry } from '../support/entry.ts';

const entryAskedAt = (askedAt: number, text: string) => anEntry({ askedAt, body: Buffer.from(text) });

async function stored(writes: readonly Buffer[]): Promise<string | undefined> {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const redis = connectRedis({
    url: inject('redisUrl'),
    connectTimeoutMs: 5000,
    commandTimeoutMs: 5000,
    onTransition: ({ state }) => state === 'connected' && resolve(),
  });
  await ready;
  const key = `newer-stays:${Math.random()}`;
  for (const bytes of writes) await redis.set(key, bytes, 60_000, ASKED_AT_OFFSET);
  const kept = await redis.getBuffer(key);
  await redis.close();
  return kept && (await decodeEntry(kept, anEntry().key))?.body.toString();
}

test('of two answers the one that was asked for later stays in Redis, whichever comes last', async () => {
  const now = Date.now();
  const [older, newer] = await Promise.all([
    encodeEntry(entryAskedAt(now - 1000, 'older')),
    encodeEntry(entryAskedAt(now, 'newer')),
  ]);
  expect(await stored([older, newer])).toBe('newer');
  expect(await stored([newer, older])).toBe('newer');
});

test.each([
  ['bytes of another kind', (bytes: Buffer) => Buffer.alloc(bytes.length, 0x7f)],
  [
    'a stamp far ahead',
    (bytes: Buffer) => {
      const broken = Buffer.from(bytes);
      broken.writeDoubleBE(Date.now() + 3_600_000, ASKED_AT_OFFSET);
      return broken;
    },
  ],
  ['less than a stamp', (bytes: Buffer) => bytes.subarray(0, ASKED_AT_OFFSET + 3)],
])('garbage does not stay: %s', async (_, broken) => {
  const bytes = await encodeEntry(entryAskedAt(Date.now(), 'right'));
  expect(await stored([broken(bytes), bytes])).toBe('right');
});
