import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { compress, decompress } from '../../../src/cache/gzip.ts';
import { anEntry, someGzip } from '../../support/entry.ts';

const BODY = Buffer.from(JSON.stringify({ transactions: Array.from({ length: 200 }, (_, number) => ({ number })) }));

const ofBytes = (length: number) => Buffer.alloc(length, BODY);
const lasting = (body = BODY) => anEntry({ body, lifetime: 60_000 });

test('a packed body is unpacked to the original, and rejected if another length is expected', async () => {
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

test('bytes that are not gzip, and a decompression bomb, are rejected', async () => {
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
  ['a body of 32 KiB with a lifetime of 10 s is compressed', 32 * 1024, 10_000, 'gzip'],
  ['a shorter body is not compressed', 32 * 1024 - 1, 10_000, 'identity'],
  ['a body with a shorter lifetime is not compressed', 32 * 1024, 9999, 'identity'],
])('for Redis alone, %s', async (_, bytes, lifetime, coding) => {
  const onPacked = vi.fn();
  const entry = anEntry({ body: ofBytes(bytes), lifetime });
  expect((await someGzip({ onPacked }).toStore(entry)).coding).toBe(coding);
  expect(onPacked).toHaveBeenCalledTimes(coding === 'gzip' ? 1 : 0);
});

test('gzip that a client requests while its entry is stored is made once, for memory and Redis', async () => {
  const onPacked = vi.fn();
  const gzip = someGzip({ onPacked });
  const entry = lasting();
  const storing = gzip.toStore(entry);
  // As in a load: the write to Redis begins before the answer to the client is rendered.
  expect(gzip.bodyFor(entry, true)).toMatchObject({ coding: 'identity' });
  const { coding, body } = await storing;
  expect([coding, await decompress(body, BODY.length)]).toEqual(['gzip', BODY]);
  expect(gzip.bodyFor(entry, true)).toEqual({ coding: 'gzip', body, varies: true });
  expect(onPacked).toHaveBeenCalledTimes(1);
});
