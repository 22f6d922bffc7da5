import fc from 'fast-check';
import { afterAll, expect, inject, test } from 'vitest';
import { type Entry, fingerprints } from '../../src/cache/entry.ts';
import { AT, decodeEntry, encodeEntry, STAMP_BYTES } from '../../src/cache/entry-codec.ts';
import { precedenceOver, REGRESSION_GUARD_MS } from '../../src/cache/precedence.ts';
import { DELETE_IF_SAME, STORE } from '../../src/cache/redis-store.ts';
import { anEntry, bodyOf, keptForm } from '../support/entry.ts';
import { connectedRedis } from '../support/observed-redis-tier.ts';

const redis = await connectedRedis(inject('redisUrl'), { commandTimeoutMs: 5000 });
afterAll(() => redis.close());

const encoded = (entry: Entry) => encodeEntry(entry, keptForm(entry));
const newKey = () => `test:store:${Math.random()}`;

async function storeBytes(key: string, bytes: Buffer, purgedUntil = 0): Promise<string> {
  return String(await redis.runScript(STORE, [key], [bytes, 60_000, purgedUntil]));
}

async function store(key: string, entry: Entry, purgedUntil = 0): Promise<string> {
  return storeBytes(key, encoded(entry), purgedUntil);
}

async function kept(key: string): Promise<string | undefined> {
  const bytes = await redis.getBuffer(key);
  const entry = bytes && decodeEntry(bytes, anEntry().key);
  return entry && bodyOf(entry).toString();
}

const NOW = Date.now();
const HASHES = ['a', 'b', 'c', 'd'];

/** Answers of one key in all that the rule looks at, with instants that are ties as often as not. */
const answers = fc
  .record({
    askedAt: fc.constantFrom(NOW - 2000, NOW - 1000, NOW),
    rank: fc.integer({ min: 0, max: 3 }),
    members: fc.subarray(HASHES),
    tentative: fc.subarray(HASHES),
    // A good way from the moment at which the guard against regression ends: the clock of Redis goes on.
    regressedSince: fc.constantFrom(undefined, NOW - REGRESSION_GUARD_MS / 2, NOW - 2 * REGRESSION_GUARD_MS),
    body: fc.string({ maxLength: 10 }),
  })
  .map(({ rank, members, tentative, body, ...rest }) => {
    const completeness = { rank, members: fingerprints(members), tentative: fingerprints(tentative) };
    return anEntry({ ...rest, body: Buffer.from(body), completeness });
  });

test('the script in Redis keeps the same of two answers as memory does', async () => {
  await fc.assert(
    fc.asyncProperty(answers, answers, async (first, second) => {
      const key = newKey();
      expect(await store(key, first)).toBe('stored');
      const expected = precedenceOver(first, second, Date.now());
      expect(await store(key, second)).toBe(expected === 'replaces' ? 'stored' : expected);
      expect(await kept(key)).toBe(bodyOf(expected === 'replaces' ? second : first).toString());
    }),
  );
});

test('an entry requested before a purge is replaced by any answer; others are not', async () => {
  const key = newKey();
  const complete = anEntry({ askedAt: NOW - 1000, body: Buffer.from('complete') });
  const regressed = anEntry({
    askedAt: NOW,
    body: Buffer.from('regressed'),
    completeness: { rank: 0, members: Buffer.alloc(0), tentative: Buffer.alloc(0) },
  });
  await store(key, complete);
  expect(await store(key, regressed, complete.askedAt - 1)).toBe('regressed');
  expect(await store(key, regressed, complete.askedAt)).toBe('stored');
  expect(await kept(key)).toBe('regressed');
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['bytes of another kind', (bytes) => Buffer.alloc(bytes.length, 0x7f)],
  ['a stamp far ahead', (bytes) => tampered(bytes, (copy) => copy.writeDoubleBE(NOW + 3_600_000, AT.askedAt))],
  ['a stamp that is no number', (bytes) => tampered(bytes, (copy) => copy.writeDoubleBE(Number.NaN, AT.askedAt))],
  ['a rank that there is not', (bytes) => tampered(bytes, (copy) => copy.writeUInt8(4, AT.rank))],
  ['less than a head', (bytes) => bytes.subarray(0, AT.stringLengths)],
])('garbage is replaced: %s', async (_, damage) => {
  const key = newKey();
  const bytes = encoded(anEntry({ askedAt: NOW, body: Buffer.from('right') }));
  await redis.runScript(`redis.call('SET', KEYS[1], ARGV[1])`, [key], [damage(bytes)]);
  expect(await storeBytes(key, bytes)).toBe('stored');
  expect(await kept(key)).toBe('right');
});

test('a value that is no string is replaced', async () => {
  const key = newKey();
  await redis.runScript(`redis.call('LPUSH', KEYS[1], 'garbage')`, [key], []);
  expect(await store(key, anEntry({ askedAt: NOW }))).toBe('stored');
});

test('damaged bytes are deleted, unless they were replaced meanwhile', async () => {
  const key = newKey();
  const bytes = encoded(anEntry({ askedAt: NOW, body: Buffer.from('right') }));
  await storeBytes(key, bytes);
  await redis.runScript(DELETE_IF_SAME, [key], [Buffer.alloc(STAMP_BYTES, 1)]);
  expect(await kept(key)).toBe('right');
  await redis.runScript(DELETE_IF_SAME, [key], [bytes.subarray(0, STAMP_BYTES)]);
  expect(await redis.getBuffer(key)).toBeUndefined();
});

function tampered(bytes: Buffer, tamper: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  tamper(copy);
  return copy;
}
