import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { compress, decompress } from '../../../src/cache/gzip.ts';
import { anEntry, someGzip } from '../../support/entry.ts';

const BODY = Buffer.from(JSON.stringify({ transactions: Array.from({ length: 200 }, (_, number) => ({ number })) }));

const lasting = (body = BODY) => anEntry({ body, lifetime: 60_000 });

test('a body is unpacked to what was packed, and not under another length', async () => {
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

test('at most 64 bodies are packed at once', async () => {
  const onPacked = vi.fn();
  const gzip = someGzip({ onPacked });
  const bodies = await Promise.all(Array.from({ length: 100 }, () => gzip.toStore(lasting())));
  expect(bodies.filter(({ coding }) => coding === 'gzip')).toHaveLength(64);
  expect(onPacked).toHaveBeenCalledTimes(64);
});
