import { randomBytes } from 'node:crypto';
import { validateHeaderValue } from 'node:http';
import { crc32, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Entry, fingerprints } from '../../../src/cache/entry.ts';
import { decodeEntry, encodeEntry } from '../../../src/cache/entry-codec.ts';
import { anEntry } from '../../support/entry.ts';

// Offsets of the layout that entry-codec.ts describes: what a foreign writer with a right checksum could get wrong.
const CHECKSUM_AT = 4;
const CHECKSUMMED_FROM = 8;
const FLAGS_AT = 8;
const ASKED_AT_AT = 15;
const BODY_LENGTH_AT = 72;
const KEY_LENGTH_AT = 80;
const ANSWER_CLASS_LENGTH_AT = 96;

/** Bytes that were tampered with on purpose, with their checksum made right again. */
function resealed(bytes: Buffer, tamper: (bytes: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  tamper(copy);
  copy.writeUInt32BE(crc32(copy.subarray(CHECKSUMMED_FROM)), CHECKSUM_AT);
  return copy;
}

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
/** What Node sends in a header. */
const headerText = fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,60}$/);
const spanMs = fc.double({ min: 0, max: 30 * 86_400_000, noNaN: true });
const body = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(fc.string(), fc.integer({ min: 0, max: 3000 })).map(([part, times]) => Buffer.from(part.repeat(times))),
);
const entries: fc.Arbitrary<Entry> = fc
  .record({
    key: text,
    tags: fc.array(fc.stringMatching(/^(seqno|hash|account):[A-Za-z0-9+/=:-]{1,60}$/), { maxLength: 3 }),
    body,
    askedAt: fc.double({ min: 0, max: 4e12, noNaN: true }),
    freshMs: spanMs,
    revalidateMs: spanMs,
    errorMs: spanMs,
    memoryTtl: spanMs,
    lifetime: spanMs,
    regressedSince: fc.option(fc.double({ min: 1, max: 4e12, noNaN: true }), { nil: undefined }),
    completeness: fc.record({
      rank: fc.integer({ min: 0, max: 3 }),
      members: fc.array(fc.string(), { maxLength: 5 }).map(fingerprints),
      tentative: fc.array(fc.string(), { maxLength: 5 }).map(fingerprints),
    }),
    head: fc.record({
      status: fc.constantFrom(200, 404),
      contentType: headerText,
      apiVersion: fc.option(headerText, { nil: undefined }),
      etag: headerText,
      answerClass: text,
      maxAgeSeconds: fc.nat(),
    }),
  })
  .map(({ freshMs, revalidateMs, errorMs, ...entry }) => ({
    ...entry,
    freshUntil: entry.askedAt + freshMs,
    staleWhileRevalidateUntil: entry.askedAt + freshMs + revalidateMs,
    staleIfErrorUntil: entry.askedAt + freshMs + errorMs,
  }));

const NOTHING_LISTED = { rank: 2, members: Buffer.alloc(0), tentative: Buffer.alloc(0) };
const large = anEntry({ body: Buffer.from('{"transactions":[1,2,3]}'.repeat(200)) });
const small = anEntry();

describe('an entry that was encoded', () => {
  test('is decoded to the same entry', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (entry) => {
        expect(await decodeEntry(await encodeEntry(entry), entry.key)).toEqual(entry);
      }),
    );
  });

  test.each([
    ['stored as it is', small],
    ['compressed', large],
  ])('does not share the memory of its body (%s)', async (_, entry) => {
    const pool = Buffer.concat([Buffer.alloc(100), await encodeEntry(entry), Buffer.alloc(100)]);
    const decoded = await decodeEntry(pool.subarray(100, pool.length - 100), entry.key);
    expect(decoded?.body.buffer.byteLength).toBe(entry.body.byteLength);
  });

  test('is compressed from 1 KiB up, where that makes it smaller', async () => {
    const overhead = (await encodeEntry(anEntry({ body: Buffer.alloc(0) }))).byteLength;
    const storedBytes = async (bytes: Buffer) => (await encodeEntry(anEntry({ body: bytes }))).byteLength - overhead;
    expect(await storedBytes(Buffer.alloc(1023))).toBe(1023);
    expect(await storedBytes(Buffer.alloc(1024))).toBeLessThan(100);
    expect(await storedBytes(randomBytes(5000))).toBe(5000);
  });

  test('is not decoded under another key', async () => {
    expect(await decodeEntry(await encodeEntry(small), `${small.key}x`)).toBeUndefined();
    expect(await decodeEntry(await encodeEntry(small), '')).toBeUndefined();
  });
});

describe('damaged bytes are no entry', () => {
  test.each(['contentType', 'etag', 'apiVersion'] as const)('when %s cannot stand in a header', async (name) => {
    for (const bad of ['a\nb', 'a\rb', '\0', '\x7f', 'snow \u2603']) {
      const entry = anEntry({ head: { ...small.head, [name]: bad } });
      expect(() => validateHeaderValue(name, bad)).toThrow();
      expect(await decodeEntry(await encodeEntry(entry), entry.key)).toBeUndefined();
    }
  });

  test.each([small, large])('when any one bit is flipped (%#)', async (entry) => {
    const bytes = await encodeEntry(entry);
    for (let bit = 0; bit < bytes.byteLength * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(await decodeEntry(damaged, entry.key), `bit ${bit}`).toBeUndefined();
    }
  });

  test.each([small, large])('when cut anywhere (%#)', async (entry) => {
    const bytes = await encodeEntry(entry);
    for (let length = 0; length < bytes.byteLength; length++) {
      expect(await decodeEntry(bytes.subarray(0, length), entry.key), `length ${length}`).toBeUndefined();
    }
  });

  test('when bytes are inserted or replaced', async () => {
    const bytes = await encodeEntry(large);
    const position = fc.integer({ min: 0, max: bytes.byteLength });
    await fc.assert(
      fc.asyncProperty(position, fc.nat(20), fc.uint8Array({ minLength: 1, maxLength: 20 }), async (at, out, put) => {
        const damaged = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + out)]);
        fc.pre(!damaged.equals(bytes));
        expect(await decodeEntry(damaged, large.key)).toBeUndefined();
      }),
    );
  });

  test('when they never were an entry', async () => {
    const start = (await encodeEntry(small)).subarray(0, 4);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.boolean(), async (garbage, withMagic) => {
        const bytes = withMagic ? Buffer.concat([start, garbage]) : Buffer.from(garbage);
        expect(await decodeEntry(bytes, small.key)).toBeUndefined();
      }),
    );
  });
});

describe('bytes with a right checksum are no entry', () => {
  const refused = async (entry: Entry, tamper: (bytes: Buffer) => void) => {
    expect(await decodeEntry(resealed(await encodeEntry(entry), tamper), entry.key)).toBeUndefined();
  };

  test('of another version', () => refused(small, (bytes) => bytes.writeUInt8(1, 3)));
  test('with a flag that is not known', () => refused(small, (bytes) => bytes.writeUInt8(4, FLAGS_AT)));
  test('with a key longer than they are', () =>
    refused(small, (bytes) => bytes.writeUInt32BE(2 ** 32 - 1, KEY_LENGTH_AT)));
  test('with a last string longer than they are', () =>
    refused(anEntry({ body: Buffer.alloc(0) }), (bytes) => bytes.writeUInt32BE(2 ** 32 - 1, ANSWER_CLASS_LENGTH_AT)));
  test('with a body shorter than declared', () => refused(small, (bytes) => bytes.writeUInt32BE(20, BODY_LENGTH_AT)));
  test('with a compressed body longer than declared', () =>
    refused(large, (bytes) => bytes.writeUInt32BE(4799, BODY_LENGTH_AT)));
  test('with a compressed body shorter than declared', () =>
    refused(large, (bytes) => bytes.writeUInt32BE(4801, BODY_LENGTH_AT)));
  test('with a plain body said to be compressed', () => refused(small, (bytes) => bytes.writeUInt8(3, FLAGS_AT)));
  test('with a compressed body said to be plain', () => refused(large, (bytes) => bytes.writeUInt8(2, FLAGS_AT)));

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])('asked for at %d', (askedAt) =>
    refused(small, (bytes) => bytes.writeDoubleBE(askedAt, ASKED_AT_AT)),
  );

  test.each<[string, Partial<Entry>]>([
    ['stale before it was asked for', { freshUntil: small.askedAt - 1 }],
    ['fresh for years', { freshUntil: 4e12, staleWhileRevalidateUntil: 4e12, staleIfErrorUntil: 4e12 }],
    ['with a freshness that is no number', { freshUntil: Number.NaN }],
    ['with a stale window that ends before the lifetime', { staleWhileRevalidateUntil: small.freshUntil - 1 }],
    ['with a stale window that never ends', { staleIfErrorUntil: Number.POSITIVE_INFINITY }],
    ['with a stale window that is no number', { staleIfErrorUntil: Number.NaN }],
    ['with a negative time before Redis', { memoryTtl: -1 }],
    ['with a negative lifetime', { lifetime: -1 }],
    ['with an endless lifetime', { lifetime: Number.POSITIVE_INFINITY }],
    ['regressed since a time that is no number', { regressedSince: Number.NaN }],
    ['of a rank that there is not', { completeness: { ...NOTHING_LISTED, rank: 4 } }],
    ['with half a member', { completeness: { ...NOTHING_LISTED, members: Buffer.alloc(12) } }],
    ['with half a tentative member', { completeness: { ...NOTHING_LISTED, tentative: Buffer.alloc(12) } }],
    ['with an endless time before Redis', { memoryTtl: Number.POSITIVE_INFINITY }],
  ])('%s', async (_, change) => {
    expect(await decodeEntry(await encodeEntry({ ...small, ...change }), small.key)).toBeUndefined();
  });

  test.each([0, 199, 600])('with status %d', async (status) => {
    expect(await decodeEntry(await encodeEntry(anEntry({ head: { status } })), small.key)).toBeUndefined();
  });

  test('that would unpack to more than 32 MiB', async () => {
    const size = 32 * 1024 * 1024 + 1;
    const bytes = await encodeEntry(anEntry({ body: Buffer.alloc(size) }));
    expect(await decodeEntry(bytes, small.key)).toBeUndefined();
    const atLimit = await encodeEntry(anEntry({ body: Buffer.alloc(size - 1) }));
    expect((await decodeEntry(atLimit, small.key))?.body.byteLength).toBe(size - 1);
  });

  test('that would unpack to far more than they declare, which is found with little memory', async () => {
    const bytes = await encodeEntry(large);
    const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
    const bodyAt = bytes.indexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
    const armed = resealed(Buffer.concat([bytes.subarray(0, bodyAt), bomb]), () => {});
    const allocated = vi.spyOn(Buffer, 'allocUnsafe');
    expect(await decodeEntry(armed, large.key)).toBeUndefined();
    expect(allocated).toHaveBeenCalled();
    const allocatedBytes = allocated.mock.calls.reduce((sum, [size]) => sum + size, 0);
    expect(allocatedBytes).toBeLessThan(4 * large.body.byteLength);
    allocated.mockRestore();
  });

  test('with one byte changed, or else they are a valid entry of this key', async () => {
    const bytes = await encodeEntry(large);
    const position = fc.integer({ min: CHECKSUMMED_FROM, max: bytes.byteLength - 1 });
    await fc.assert(
      fc.asyncProperty(position, fc.nat(255), async (at, value) => {
        const decoded = await decodeEntry(
          resealed(bytes, (copy) => copy.writeUInt8(value, at)),
          large.key,
        );
        if (decoded === undefined) return;
        expect(decoded.key).toBe(large.key);
        expect(decoded.body.byteLength).toBe(large.body.byteLength);
      }),
    );
  });
});
