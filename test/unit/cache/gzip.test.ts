import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { compress, decompress } from '../../../src/cache/gzip.ts';
import { anEntry, someGzip } from '../../support/entry.ts';

const BODY = Buffer.from(JSON.stringify({ transactions: Array.from({ length: 200 }, (_, number) => ({ number })) }));

const ofBytes = (length: number) => Buffer.alloc(length, BODY);
const lasting = (body = BODY) => anEntry({ body, lifetime: 60_000 });

test('a body is unpacked to its original, and not under another length', async () => {
  const body = fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(body, fc.nat(40), async (part, times) => {
      const whole = Buffer.concat(Array.from({ length: times }, () => part));
      const packed = await compress(whole);
      expect(packed.buffer.byteLength).toBe(packed.byteLength);
      const unpacked = await decompress(packed, whole.length);
      expect(unpacked.equals(whole)).toBe(true);
      expect(unpacked.buffer.byteLength).toBe(whole.length);
      if (whole.length > 0) await expect(decompress(packed, whole.length - 1)).rejects.toThrow();
      await expect(decompress(packed, whole.length + 1)).rejects.toThrow();
    }),
    { numRuns: 40 },
  );
});

test('bytes that are no gzip, and a bomb, are not unpacked', async () => {
  const bomb = await compress(Buffer.alloc(16 * 1024 * 1024));
  for (const length of [10, 1000, 200_000]) {
    await expect(decompress(Buffer.from('no such thing'), length)).rejects.toThrow();
    await expect(decompress(bomb, length)).rejects.toThrow();
  }
});

test('at most 64 bodies are packed at the same time', async () => {
  const onPacked = vi.fn();
  const gzip = someGzip({ onPacked });
  const bodies = await Promise.all(Array.from({ length: 100 }, () => gzip.toStore(lasting(ofBytes(32 * 1024)))));
  expect(bodies.filter(({ coding }) => coding === 'gzip')).toHaveLength(64);
  expect(onPacked).toHaveBeenCalledTimes(64);
});

test.each([
  ['a body of 32 KiB that lives for 10 s', 32 * 1024, 10_000, 'gzip'],
  ['a shorter one', 32 * 1024 - 1, 10_000, 'identity'],
  ['one that lives for a shorter time', 32 * 1024, 9999, 'identity'],
])('for Redis alone %s is kept in the right form', async (_, bytes, lifetime, coding) => {
  const onPacked = vi.fn();
  const entry = anEntry({ body: ofBytes(bytes), lifetime });
  expect((await someGzip({ onPacked }).toStore(entry)).coding).toBe(coding);
  expect(onPacked).toHaveBeenCalledTimes(coding === 'gzip' ? 1 : 0);
});

test('gzip that a client has requested by the time of the store is made once, for memory and Redis', async () => {
  const onPacked = vi.fn();
  const gzip = someGzip({ onPacked });
  const entry = lasting();
  const storing = gzip.toStore(entry);
  // The answer to the client for whom it was loaded is rendered after the write to Redis has begun.
  expect(gzip.bodyFor(entry, true)).toMatchObject({ coding: 'identity' });
  const { coding, body } = await storing;
  expect([coding, await decompress(body, BODY.length)]).toEqual(['gzip', BODY]);
  expect(gzip.bodyFor(entry, true)).toEqual({ coding: 'gzip', body, varies: true });
  expect(onPacked).toHaveBeenCalledTimes(1);
});
