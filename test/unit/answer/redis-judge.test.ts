import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { finalRowsInBody } from '../../../src/answer/body-facts.ts';
import { judgeFromRedis } from '../../../src/answer/redis-judge.ts';
import { contentOf, type Entry } from '../../../src/cache/entry.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';
import { anEntry, aProof } from '../../support/entry.ts';

const ACCOUNT = `0:${'AB'.repeat(32)}`;
const EPOCH_MS = 1_700_000_000_000;
const UNREAD = 900;

let now: number;
let unreadFrom: number;
let mark: number;
let shown: string[];
let judgedFrom: unknown[];

beforeEach(() => {
  now = 100_000;
  unreadFrom = UNREAD;
  mark = now;
  shown = [];
  judgedFrom = [];
});

const judge = (entry: Entry, tags: readonly string[] = []) =>
  judgeFromRedis({
    proofs: {
      get unreadFrom() {
        return unreadFrom;
      },
      get mark() {
        return mark;
      },
      shown: (rows: readonly BlockRow[]) => void shown.push(...rows.map(({ hash }) => hash)),
      proofOf: (evidence, accounts, askedAt) => {
        if (accounts.length === 0) return undefined;
        judgedFrom.push([evidence, accounts, askedAt]);
        return aProof({ keptMs: 0 });
      },
    },
    bodies: { readRows: async (body, from) => finalRowsInBody(body, from) },
    now: () => EPOCH_MS + now,
    monotonic: () => now,
  })(entry, tags);

const transaction = (hash: string, seqno: number) => ({
  account: ACCOUNT,
  hash,
  lt: '5',
  now: 1,
  mc_block_seqno: seqno,
});
const BODY = Buffer.from(
  JSON.stringify({ transactions: [transaction('old', UNREAD - 1), transaction('new', UNREAD)] }),
);
const entryAt = (askedAt: number, more: Partial<Entry> = {}) =>
  anEntry({
    key: 'mainnet transactions?hash=AAAA',
    askedAt: EPOCH_MS + askedAt,
    content: contentOf(BODY),
    ...more,
  });

test('the transactions of unread blocks in an entry from Redis are seen before it is used', async () => {
  const entry = entryAt(now - 500);
  expect(await judge(entry)).toBe(entry);
  expect(shown).toEqual(['new']);
});

test('the body of an entry in gzip is read, too', async () => {
  await judge(entryAt(now - 500, { content: contentOf(gzipSync(BODY), 'gzip', BODY.length) }));
  expect(shown).toEqual(['new']);
});

test('an entry whose gzip is invalid shows nothing', async () => {
  const entry = entryAt(now - 500, { content: contentOf(Buffer.from('no gzip'), 'gzip', 10) });
  expect(await judge(entry)).toBe(entry);
});

test('an entry from before the blocks that are read is not parsed, and costs no turn', () => {
  mark = now - 500;
  const entry = entryAt(mark - 10_001);
  expect(judge(entry)).toBe(entry);
});

test('while blocks are not followed an entry is not judged', () => {
  unreadFrom = Number.POSITIVE_INFINITY;
  const entry = entryAt(now, { key: `mainnet addressInformation?address=${ACCOUNT}` });
  expect(judge(entry, [`account:${ACCOUNT}`])).toBe(entry);
});

test.each([
  ['the instant of its request', 400, 0, 400],
  ['now, if it is dated ahead', -5000, 0, 0],
  ['that instant less its Age', 400, 3, 3400],
])(
  'an entry about an account is outdated by every transaction since %s',
  async (_, ageMs, ageValueSeconds, sinceMs) => {
    const key = `mainnet addressInformation?address=${ACCOUNT}`;
    const entry = await judge(entryAt(now - ageMs, { key, ageValueSeconds }), [`account:${ACCOUNT}`]);
    expect(judgedFrom).toEqual([[undefined, [ACCOUNT], now - sinceMs]]);
    expect(entry.proof).toBeDefined();
  },
);
