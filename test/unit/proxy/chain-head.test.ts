import { beforeEach, describe, expect, test } from 'vitest';
import { ChainHead } from '../../../src/proxy/chain-head.ts';

const HEAD = 62_000_000;
const SECOND = 1000;

let now: number;
/** What the indexer names as its head; `undefined`: it does not answer. */
let named: number | undefined;
let asks: number;
let head: ChainHead;
/** What it has said is the newest block, oldest first. */
let newest: number[];

beforeEach(() => {
  now = 5_000_000;
  named = HEAD;
  asks = 0;
  newest = [];
  const askHead = async () => {
    asks++;
    return named === undefined ? undefined : { at: undefined, seqno: named, apiVersion: '1.2.3' };
  };
  head = new ChainHead({ askHead, monotonic: () => now, onNewest: (seqno) => newest.push(seqno) });
});

/** Until what was begun in the background has ended. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a block cannot exist yet', () => {
  test('only where the head is known: no other answer says where that is', () => {
    head.learn(HEAD);
    expect(head.isBeyond(2_147_483_647)).toBe(false);
  });

  test('where it lies beyond the head and its margin', async () => {
    await head.ask();
    expect([HEAD - 1, HEAD, HEAD + 1, HEAD + 1000].map((seqno) => head.isBeyond(seqno))).toEqual(Array(4).fill(false));
    expect(head.isBeyond(HEAD + 1001)).toBe(true);
    expect(head.apiVersion).toBe('1.2.3');
  });

  test('by a margin that grows by 300 blocks a second: the indexer may be catching up', async () => {
    await head.ask();
    now += 10 * SECOND;
    expect([HEAD + 4000, HEAD + 4001].map((seqno) => head.isBeyond(seqno))).toEqual([false, true]);
  });

  test('but every block may after a jump of the clock, until the head is asked for again', async () => {
    await head.ask();
    head.onClockJump();
    expect(head.isBeyond(2_147_483_647)).toBe(false);
    named = HEAD + 9000;
    head.learnAbsent(HEAD);
    await head.ask();
    expect([HEAD + 10_000, HEAD + 10_001].map((seqno) => head.isBeyond(seqno))).toEqual([false, true]);
  });

  test('beyond what another answer has shown, if that is higher', async () => {
    await head.ask();
    head.learn(HEAD + 5000);
    head.learn(HEAD + 4000);
    expect([HEAD + 6000, HEAD + 6001].map((seqno) => head.isBeyond(seqno))).toEqual([false, true]);
  });

  test('by the newest head: an indexer that was set back to an older chain is believed', async () => {
    await head.ask();
    named = 1000;
    await head.ask();
    expect([2000, 2001, HEAD].map((seqno) => head.isBeyond(seqno))).toEqual([false, true, true]);
    named = HEAD + 5000;
    await head.ask();
    expect(head.isBeyond(HEAD + 5001)).toBe(false);
  });

  test('by a replica that lags only after nothing else was shown for a minute', async () => {
    head.learn(HEAD);
    named = HEAD - 9000;
    await head.ask();
    expect(head.isBeyond(HEAD)).toBe(false);
    now += 61 * SECOND;
    await head.ask();
    expect(head.isBeyond(HEAD)).toBe(true);
  });
});

describe('the head is asked for in the background', () => {
  test('where a block is missing and nothing is known', async () => {
    head.learnAbsent(HEAD);
    await settled();
    expect([asks, head.isBeyond(HEAD + 1001)]).toEqual([1, true]);
  });

  test('not for the next blocks, which a scanner asks for until they are there', async () => {
    head.learn(HEAD);
    for (let next = HEAD + 1; next < HEAD + 10; next++) head.learnAbsent(next);
    head.learnAbsent(5);
    expect(asks).toBe(0);
    head.learnAbsent(HEAD + 1001);
    expect(asks).toBe(1);
  });

  test('once in 10 s however many far blocks are asked for, and what is known holds meanwhile', async () => {
    await head.ask();
    for (let request = 0; request < 1000; request++) expect(head.isBeyond(2_000_000_000 - request)).toBe(true);
    expect(asks).toBe(1);
    now += 10 * SECOND;
    expect(head.isBeyond(2_000_000_000)).toBe(true);
    expect(head.isBeyond(2_000_000_000)).toBe(true);
    await settled();
    expect(asks).toBe(2);
  });

  test('ever more seldom, once a minute in the end, while it cannot be learned', async () => {
    named = undefined;
    const askedAt: number[] = [];
    for (const begin = now; now < begin + 300 * SECOND; now += SECOND) {
      const before = asks;
      head.learnAbsent(HEAD);
      await settled();
      if (asks > before) askedAt.push((now - begin) / SECOND);
    }
    expect(askedAt).toEqual([0, 10, 30, 70, 130, 190, 250]);
    named = HEAD;
    head.learnAbsent(HEAD);
    now += 60 * SECOND;
    head.learnAbsent(HEAD);
    await settled();
    expect(head.isBeyond(HEAD + 1001)).toBe(true);
  });

  test('once for all who want it at the same time', async () => {
    await Promise.all([head.ask(), head.ask(), head.ask()]);
    expect(asks).toBe(1);
  });
});

test('the newest block is told each time that it is another one', async () => {
  head.learn(HEAD - 5);
  head.learn(HEAD - 7);
  await head.ask();
  await head.ask();
  head.learn(HEAD + 1);
  expect(newest).toEqual([HEAD - 5, HEAD, HEAD + 1]);
});
