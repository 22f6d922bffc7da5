import { validateHeaderValue } from 'node:http';
import { crc32, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentOf, type Entry, fingerprints, HIGHEST_ORDER, ownedBytes } from '../../../src/cache/entry.ts';
import { AT, decodeEntry, encodeEntry } from '../../../src/cache/entry-codec.ts';
import { keptBody } from '../../../src/cache/gzip.ts';
import { anEntry, aProof } from '../../support/entry.ts';

/** A copy of the bytes, changed by `tamper`, with a correct checksum. */
function resealed(bytes: Buffer, tamper: (bytes: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  tamper(copy);
  copy.writeUInt32BE(crc32(copy.subarray(AT.metaLength)), AT.checksum);
  return copy;
}

/** Encodes an entry with its body in the coding in which it is kept. */
const encoded = (entry: Entry) => encodeEntry(entry, keptBody(entry.content));

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
/** Text that Node sends in a header. */
const headerText = fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,60}$/);
const spanMs = fc.nat(30 * 86_400_000);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(fc.string(), fc.integer({ min: 0, max: 3000 })).map(([part, times]) => Buffer.from(part.repeat(times))),
);
const entries: fc.Arbitrary<Entry> = fc
  .record({
    key: text,
    etag: fc.stringMatching(/^"[\x21\x23-\x7e\x80-\xff]{0,60}"$/),
    content: fc
      .record({
        coding: fc.constantFrom('identity', 'gzip'),
        body: body.filter(({ length }) => length > 0),
        bytes: fc.nat(32 * 1024 * 1024),
      })
      .map(({ coding, body: kept, bytes }) =>
        contentOf(ownedBytes(kept), coding, coding === 'identity' ? kept.length : bytes),
      ),
    askedAt: fc.double({ min: 0, max: 4e12, noNaN: true }),
    freshMs: spanMs,
    staleWhileRevalidate: spanMs,
    staleIfError: spanMs,
    lifetime: spanMs,
    ageValueSeconds: fc.nat(),
    regressedSince: fc.option(fc.double({ min: 1, max: 4e12, noNaN: true }), { nil: undefined }),
    awaitedBlock: fc.option(fc.nat(2 ** 31 - 1), { nil: undefined }),
    proof: fc.constant(undefined),
    equalMs: fc.option(spanMs, { nil: undefined }),
    completeness: fc.record({
      rank: fc.integer({ min: 0, max: 3 }),
      members: fc.array(fc.string(), { maxLength: 5 }).map(fingerprints),
      tentative: fc.array(fc.string(), { maxLength: 5 }).map(fingerprints),
    }),
    order: fc.option(fc.bigInt({ min: 0n, max: HIGHEST_ORDER }), { nil: undefined }),
    lacksStates: fc.boolean(),
    states: fc.option(
      fc.uint8Array({ maxLength: 3 }).map(({ length }) => Buffer.alloc(16 * length, 7)),
      { nil: undefined },
    ),
    meta: fc.record({
      status: fc.constantFrom(200, 404),
      contentType: headerText,
      apiVersion: fc.option(headerText, { nil: undefined }),
      answerClass: text,
      maxAgeSeconds: fc.nat(),
      indexer: fc.string(),
      isAged: fc.constantFrom(true, undefined),
      retention: fc.option(fc.record({ afterUse: spanMs, sinceGiven: spanMs }), { nil: undefined }),
    }),
  })
  .map(({ freshMs, order, lacksStates, states, completeness, ...entry }) => ({
    ...entry,
    completeness:
      states === undefined
        ? { ...(order !== undefined && { order }), ...completeness, ...(lacksStates && { lacksStates }) }
        : { ...completeness, states },
    freshUntil: entry.askedAt + freshMs,
  }));

const NOTHING_LISTED = { rank: 2, members: Buffer.alloc(0), tentative: Buffer.alloc(0) };
const largeBody = Buffer.from('{"transactions":[1,2,3]}'.repeat(200));
const large = anEntry({ content: contentOf(gzipSync(largeBody), 'gzip', largeBody.length) });
const small = anEntry();

describe('an entry that was encoded', () => {
  test('is decoded to the same entry', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        expect(decodeEntry(encoded(entry), entry.key)).toEqual(entry);
      }),
    );
  });
});

test('an entry that no other cache had is stored without ageValueSeconds, as by older versions, and read as 0', () => {
  const bytes = encoded(small);
  expect(bytes.toString()).not.toContain('ageValueSeconds');
  expect(decodeEntry(bytes, small.key)).toMatchObject({ ageValueSeconds: 0 });
});

test('a proof is not stored: blocks that one instance has read prove nothing to another one', () => {
  const proof = aProof();
  expect(encoded({ ...small, proof })).toEqual(encoded(small));
  expect(decodeEntry(encoded({ ...small, proof }), small.key)?.proof).toBe(undefined);
});

describe('decodeEntry rejects an encoded entry', () => {
  test.each(['contentType', 'apiVersion'] as const)('whose %s cannot be sent in a header', (name) => {
    for (const bad of ['a\nb', 'a\rb', '\0', '\x7f', 'snow \u2603']) {
      const entry = anEntry({ meta: { ...small.meta, [name]: bad } });
      expect(() => validateHeaderValue(name, bad)).toThrow();
      expect(decodeEntry(encoded(entry), entry.key)).toBeUndefined();
    }
  });

  test.each(['', 'a', '"a', 'W/"a"', '"a"b"', '"a b"', '"\n"', '"\0"'])('whose ETag is %j', (etag) => {
    expect(decodeEntry(encoded({ ...small, etag }), small.key)).toBeUndefined();
  });

  test.each([small, large])('with any single bit flipped (%#)', (entry) => {
    const bytes = encoded(entry);
    for (let bit = 0; bit < bytes.byteLength * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(decodeEntry(damaged, entry.key), `bit ${bit}`).toBeUndefined();
    }
  });
});

describe('decodeEntry rejects bytes with a correct checksum', () => {
  const refused = (entry: Entry, tamper: (bytes: Buffer) => void) => {
    expect(decodeEntry(resealed(encoded(entry), tamper), entry.key)).toBeUndefined();
  };

  test('of another version', () => refused(small, (bytes) => bytes.writeUInt8(1, 3)));
  test('with metadata that is longer than the bytes', () =>
    refused(small, (bytes) => bytes.writeUInt32BE(2 ** 32 - 1, AT.metaLength)));
  test('with metadata that is not JSON', () => refused(small, (bytes) => bytes.writeUInt8(0, AT.meta)));
  test.each(['null', '[]', '{}', '"meta"'])('with metadata that is %s', (meta) => {
    const bytes = Buffer.concat([encoded(small).subarray(0, AT.meta), Buffer.from(meta)]);
    const sealed = resealed(bytes, (copy) => copy.writeUInt32BE(meta.length, AT.metaLength));
    expect(decodeEntry(sealed, '')).toBeUndefined();
  });
  test('with an empty gzip body', () => {
    const empty = anEntry({ content: contentOf(Buffer.alloc(0), 'gzip', 100) });
    expect(decodeEntry(encoded(empty), empty.key)).toBeUndefined();
  });
  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])('of an entry requested at %d', (askedAt) => {
    expect(decodeEntry(encoded({ ...small, askedAt }), small.key)).toBeUndefined();
  });

  test.each<[string, Partial<Entry>]>([
    ['that expires before its request', { freshUntil: small.askedAt - 1 }],
    ['that is fresh for decades', { freshUntil: 4e12 }],
    ['whose freshUntil is not a number', { freshUntil: Number.NaN }],
    ['with a negative staleWhileRevalidate', { staleWhileRevalidate: -1 }],
    ['with an infinite staleIfError', { staleIfError: Number.POSITIVE_INFINITY }],
    ['whose staleIfError is not a number', { staleIfError: Number.NaN }],
    ['with a negative lifetime', { lifetime: -1 }],
    ['with an infinite lifetime', { lifetime: Number.POSITIVE_INFINITY }],
    ['with a negative Age', { ageValueSeconds: -1 }],
    ['whose Age is not in whole seconds', { ageValueSeconds: 1.5 }],
    ['whose Age is above the maximum', { ageValueSeconds: 2 ** 31 + 1 }],
    ['whose order is above the maximum', { completeness: { ...NOTHING_LISTED, order: HIGHEST_ORDER + 1n } }],
    ['with a negative order', { completeness: { ...NOTHING_LISTED, order: -1n } }],
    ['with a negative regressedSince', { regressedSince: -1 }],
    ['whose rank is above the maximum', { completeness: { ...NOTHING_LISTED, rank: 2 ** 31 } }],
    [
      'with an incomplete fingerprint in its members',
      { completeness: { ...NOTHING_LISTED, members: Buffer.alloc(12) } },
    ],
    [
      'with an incomplete fingerprint in its tentative members',
      { completeness: { ...NOTHING_LISTED, tentative: Buffer.alloc(12) } },
    ],
  ])('of an entry %s', (_, change) => {
    expect(decodeEntry(encoded({ ...small, ...change }), small.key)).toBeUndefined();
  });

  test.each([0, 199, 204, 206, 304, 500, 600])('of an entry with status %d', (status) => {
    expect(decodeEntry(encoded(anEntry({ meta: { status } })), small.key)).toBeUndefined();
  });

  test('of an entry with a body of more than 32 MiB', () => {
    const size = 32 * 1024 * 1024 + 1;
    expect(decodeEntry(encoded(anEntry({ body: Buffer.alloc(size) })), small.key)).toBeUndefined();
    const encodedTooLarge = anEntry({ content: contentOf(Buffer.alloc(10), 'gzip', size) });
    expect(decodeEntry(encoded(encodedTooLarge), small.key)).toBeUndefined();
    const atLimit = decodeEntry(encoded(anEntry({ body: Buffer.alloc(size - 1) })), small.key);
    expect(atLimit?.content.bytes).toBe(size - 1);
  });

  test('with one byte changed, unless they are a valid entry of this key', () => {
    const bytes = encoded(large);
    const position = fc.integer({ min: AT.metaLength, max: bytes.byteLength - 1 });
    fc.assert(
      fc.property(position, fc.nat(255), (at, value) => {
        const sealed = resealed(bytes, (copy) => copy.writeUInt8(value, at));
        const decoded = decodeEntry(sealed, large.key);
        if (decoded === undefined) return;
        expect(decoded.key).toBe(large.key);
        expect(decoded.content.bytes).toBeLessThanOrEqual(32 * 1024 * 1024);
      }),
    );
  });
});
