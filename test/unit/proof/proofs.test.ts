import { beforeEach, describe, expect, test } from 'vitest';
import { Proofs, SEEN_BEFORE_MS } from '../../../src/proof/proofs.ts';
import { Touches } from '../../../src/proof/touches.ts';
import type { BlockRow } from '../../../src/ton/block-facts.ts';
import type { Evidence } from '../../../src/ton/evidence.ts';

const START_MS = 1_000_000;
const BOUNDS_MS = { withClaims: 60_000, plain: 300_000 };
const UNREAD = 900;

let now: number;
let mark: number;
let touches: Touches;
let proofs: Proofs;

const row = (hash: string, { account = 'A', lt = 5n, seqno = 1, at = 0 } = {}): BlockRow => ({
  account,
  hash,
  lt,
  now: at,
  seqno,
});
const page = (hashes: readonly string[], more: Partial<Evidence & { kind: 'page' }> = {}): Evidence => ({
  kind: 'page',
  accounts: ['A'],
  hasClaims: false,
  hashes: new Set(hashes),
  window: { fromLt: 0n, fromNow: 0 },
  ...more,
});
const proofOf = (evidence: Evidence | undefined, askedAt = now) => {
  const proof = proofs.proofOf(evidence, ['A'], askedAt);
  if (proof === undefined) throw new Error('not judged');
  return proof;
};
/** Time passes, with a follower that reads every block. */
const pass = (ms: number) => {
  now += ms;
  mark = now;
};

beforeEach(() => {
  now = START_MS;
  mark = now;
  open(2 ** 26);
});

function open(maxBytes: number): void {
  touches = new Touches({ now: () => now, keptMs: BOUNDS_MS.plain + SEEN_BEFORE_MS, maxBytes });
  const blocks = {
    get mark() {
      return mark;
    },
    isUnread: (seqno: number) => seqno >= UNREAD,
    oldestUnread: UNREAD,
  };
  proofs = new Proofs({ touches, blocks, now: () => now, boundsMs: BOUNDS_MS });
  proofs.switched(true);
  proofs.caughtUp();
}

describe('an answer is proven', () => {
  test('while no transaction of its accounts is seen, until its bound is over', () => {
    const [plain, withClaims] = [proofOf(page([])), proofOf(page([], { hasClaims: true }))];
    pass(59_999);
    proofs.read([row('one', { account: 'B' })]);
    expect([plain.doubt, withClaims.doubt]).toEqual([undefined, undefined]);
    pass(1);
    expect([plain.doubt, withClaims.doubt]).toEqual([undefined, 'too-old']);
    pass(240_000);
    expect(plain.doubt).toBe('too-old');
  });

  test('if it shows the transactions that are seen since its request', () => {
    const proof = proofOf(page(['one', 'two']));
    pass(1000);
    proofs.read([row('one')]);
    expect([proof.doubt, proof.isOutdated()]).toEqual([undefined, false]);
    pass(1000);
    proofs.read([row('two')]);
    expect(proof.doubt).toBe(undefined);
    pass(1000);
    proofs.read([row('three')]);
    expect([proof.doubt, proof.isOutdated()]).toEqual(['touched', true]);
  });

  test('by each transaction: a newer one does not stand for one below it', () => {
    const proof = proofOf(page(['newer']));
    proofs.read([row('newer', { lt: 9n })]);
    expect(proof.doubt).toBe(undefined);
    proofs.read([row('older', { lt: 8n })]);
    expect(proof.doubt).toBe('touched');
  });

  test('without the transactions that do not belong to its page', () => {
    const proof = proofOf(page(['one'], { window: { fromLt: 5n, fromNow: 100 } }));
    pass(10);
    proofs.read([row('below the page', { lt: 4n, at: 200 }), row('before its time', { lt: 6n, at: 99 })]);
    expect(proof.doubt).toBe(undefined);
    proofs.read([row('in the page', { lt: 5n, at: 100 })]);
    expect(proof.doubt).toBe('touched');
  });

  test('by the lt of a state, for each of its accounts', () => {
    const state: Evidence = { kind: 'state', accounts: ['A', 'B'], hasClaims: false, lastLt: 7n };
    const proof = proofOf(state);
    proofs.read([row('one', { lt: 7n }), row('two', { account: 'B', lt: 7n })]);
    expect(proof.doubt).toBe(undefined);
    proofs.read([row('three', { account: 'B', lt: 8n })]);
    expect(proof.doubt).toBe('touched');
  });
});

describe('an answer is not proven', () => {
  test('if it lacks a transaction that was seen in the 62 s before its request', () => {
    proofs.read([row('one')]);
    pass(SEEN_BEFORE_MS);
    const proof = proofOf(page([]));
    expect([proof.doubt, proof.isOutdated()]).toEqual(['touched', false]);
  });

  test('but if it lacks only older ones, it is: they may have left the database', () => {
    proofs.read([row('one')]);
    pass(SEEN_BEFORE_MS + 1);
    expect(proofOf(page([])).doubt).toBe(undefined);
  });

  test('for as long as it is kept, once it lacks one', () => {
    proofs.read([row('one')]);
    pass(1000);
    const proof = proofOf(page([]));
    pass(BOUNDS_MS.plain - 1);
    proofs.read([row('one')]);
    expect(proof.doubt).toBe('touched');
  });

  test('while not every block of a second ago is read', () => {
    const proof = proofOf(page([]));
    now += 999;
    expect(proof.doubt).toBe(undefined);
    now += 1;
    expect(proof.doubt).toBe('not-alive');
  });

  test('if blocks were skipped since its request, or were not yet read then', () => {
    const before = proofOf(page([]));
    pass(10);
    proofs.skipped();
    const during = proofOf(page([]));
    pass(10);
    expect(before.doubt).toBe('not-alive');
    proofs.caughtUp();
    expect([before, during, proofOf(page([]))].map(({ doubt }) => doubt)).toEqual([
      'asked-too-early',
      'asked-too-early',
      undefined,
    ]);
  });

  test('if transactions since its request less 62 s are forgotten for lack of memory', () => {
    open(2000);
    pass(SEEN_BEFORE_MS + 1);
    const proof = proofOf(page([]));
    expect(proof.doubt).toBe(undefined);
    now -= SEEN_BEFORE_MS;
    for (let n = 0; n < 10; n++) proofs.read([row(`${n}`, { account: `${n}` })]);
    pass(SEEN_BEFORE_MS);
    expect(proof.doubt).toBe('asked-too-early');
  });

  test('without evidence: then every transaction since its request outdates it', () => {
    proofs.read([row('before')]);
    pass(1);
    const proof = proofOf(undefined);
    expect([proof.doubt, proof.isOutdated(), proof.keptMs]).toEqual(['not-checked', false, 0]);
    proofs.read([row('after')]);
    expect(proof.isOutdated()).toBe(true);
  });

  test('if it is about no account, or blocks are not followed: then it is not judged at all', () => {
    expect(proofs.proofOf(undefined, [], now)).toBe(undefined);
    proofs.switched(false);
    expect(proofs.proofOf(page([]), ['A'], now)).toBe(undefined);
  });
});

test('an answer is outdated from the instant at which the first missing transaction was seen', () => {
  const proof = proofOf(page([]));
  pass(100);
  const seenAt = now;
  proofs.read([row('one')]);
  pass(100);
  proofs.read([row('two')]);
  expect([seenAt - 1, seenAt, now].map((at) => proof.isOutdated(at))).toEqual([false, true, true]);
});

describe('a transaction that an answer shows', () => {
  test('counts if its block is not read', () => {
    const [proof, other] = [proofOf(page([])), proofOf(page(['one']))];
    pass(10);
    proofs.shown([row('one', { seqno: UNREAD })]);
    expect([proof.doubt, proof.isOutdated(), other.doubt]).toEqual(['touched', true, undefined]);
  });

  test('counts for nothing if its block is read', () => {
    const proof = proofOf(page([]));
    proofs.shown([row('one', { seqno: UNREAD - 1 })]);
    expect([proof.doubt, touches.bytes]).toEqual([undefined, 0]);
  });

  test('counts for nothing while blocks are not followed', () => {
    proofs.switched(false);
    proofs.shown([row('one', { seqno: UNREAD })]);
    expect([touches.bytes, proofs.unreadFrom]).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  test('is kept once, however often it is shown, and when its block is read', () => {
    const rows = [row('one', { seqno: UNREAD }), row('two', { seqno: UNREAD })];
    proofs.shown(rows.slice(0, 1));
    proofs.shown(rows);
    proofs.read([...rows, row('three', { seqno: UNREAD })]);
    expect([...touches.since('A', 0)].map(({ hash }) => hash)).toEqual(['three', 'two', 'one']);
  });

  test('is seen again when its block is read after a new start: an answer from before the fall lacks it', () => {
    proofs.shown([row('one', { seqno: UNREAD })]);
    pass(SEEN_BEFORE_MS + 1);
    proofs.skipped();
    proofs.read([row('one', { seqno: UNREAD })]);
    proofs.caughtUp();
    expect(proofOf(page([])).doubt).toBe('touched');
  });
});
