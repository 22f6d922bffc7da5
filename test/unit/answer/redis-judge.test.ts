import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { shownIn } from '../../../src/answer/body-facts.ts';
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
        if ((evidence?.accounts ?? accounts).length === 0) return undefined;
        judgedFrom.push([evidence, accounts, askedAt]);
        return aProof({ keptMs: 0 });
      },
    },
    bodies: { readShown: async (call, body, from) => shownIn(call, body, from) },
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
  const entry = entryAt(mark - 32_001);
  expect(judge(entry)).toBe(entry);
});

test('while blocks are not followed an entry is not judged', () => {
  unreadFrom = Number.POSITIVE_INFINITY;
  const entry = entryAt(now, { key: `mainnet addressInformation?address=${ACCOUNT}` });
  expect(judge(entry, [`account:${ACCOUNT}`])).toBe(entry);
});

const STATE = Buffer.from(JSON.stringify({ balance: '1', last_transaction_lt: '5', status: 'active' }));
const STATE_KEY = `mainnet addressInformation?address=${ACCOUNT}`;
const TAGS = [`account:${ACCOUNT}`];

test.each([
  ['the instant of its request', 400, 0, 400],
  ['the instant of its request, minutes ago', 240_000, 0, 240_000],
  ['now, if it is dated ahead', -5000, 0, 0],
  ['that instant less its Age', 400, 3, 3400],
])('an entry about an account is judged by the evidence in its body, from %s', async (_, ageMs, ageS, sinceMs) => {
  const content = contentOf(gzipSync(STATE), 'gzip', STATE.length);
  const entry = await judge(entryAt(now - ageMs, { key: STATE_KEY, content, ageValueSeconds: ageS }), TAGS);
  const evidence = { kind: 'state', accounts: [ACCOUNT], hasClaims: false, lastLt: 5n };
  expect(judgedFrom).toEqual([[evidence, [ACCOUNT], now - sinceMs]]);
  expect(entry.proof).toBeDefined();
});

test('the evidence is read with the whole request, as the key has it', async () => {
  const key = `mainnet transactions?account=${ACCOUNT}&limit=1&start_lt=9&X-No-Address-Book:true`;
  const row = { account: ACCOUNT, lt: '12', hash: 'a', prev_trans_lt: '9', now: 1, mc_block_seqno: UNREAD };
  const content = contentOf(Buffer.from(JSON.stringify({ transactions: [row] })));
  await judge(entryAt(now, { key, content }), TAGS);
  // The page is full, so the window begins with its last row.
  expect(judgedFrom).toMatchObject([[{ kind: 'page', window: { fromLt: 12n } }, [ACCOUNT], now]]);
  expect(shown).toEqual(['a']);
});

test('a look-up of owners is not judged, although its only row may be that of its first account', async () => {
  const key = `mainnet jetton/wallets?address=${ACCOUNT}&address=0:${'CD'.repeat(32)}&limit=1000`;
  const row = { address: ACCOUNT, owner: ACCOUNT, jetton: ACCOUNT, balance: '1', last_transaction_lt: '5' };
  const entry = entryAt(now, { key, content: contentOf(Buffer.from(JSON.stringify({ jetton_wallets: [row] }))) });
  expect(await judge(entry)).toBe(entry);
});

test.each([
  ['a 404', { meta: anEntry({ meta: { status: 404 } }).meta, content: contentOf(STATE) }],
  ['a body without evidence', { content: contentOf(Buffer.from('{"balance":"1"}')) }],
  ['invalid gzip', { content: contentOf(Buffer.from('no gzip'), 'gzip', 10) }],
])('%s about an account is judged without evidence: every later transaction outdates it', async (_, more) => {
  await judge(entryAt(now - 400, { key: STATE_KEY, ...more }), TAGS);
  expect(judgedFrom).toEqual([[undefined, [ACCOUNT], now - 400]]);
});
