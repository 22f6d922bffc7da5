import { beforeEach, describe, expect, test } from 'vitest';
import { ReadBlocks } from '../../../src/proof/read-blocks.ts';

const HEAD = 5000;

let blocks: ReadBlocks;

/** The seqnos from `first` to `last`. */
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

/** Starts with a list of 1000 blocks without gaps, of which nothing is to be read. */
beforeEach(() => {
  blocks = new ReadBlocks();
  blocks.begin(range(HEAD - 999, HEAD), HEAD + 1, 0);
});

describe('a gap', () => {
  test('below a block that was read lets nothing be proven until it is there, and holds the mark back until it is read', () => {
    blocks.headIs(HEAD + 2, 1000);
    blocks.isRead(HEAD + 2);
    blocks.isAbsent(HEAD + 1, 1100);
    blocks.headIs(HEAD + 2, 1500);
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    blocks.isThere(HEAD + 1, 1600);
    expect(blocks.mark).toBe(1100);
    blocks.isRead(HEAD + 1);
    expect(blocks.mark).toBe(1500);
  });

  test('above all blocks that were read does not end the proof: a replica lags', () => {
    blocks.headIs(HEAD, 900);
    blocks.headIs(HEAD + 2, 1000);
    blocks.isAbsent(HEAD + 1, 1010);
    expect(blocks.mark).toBe(900);
    blocks.isRead(HEAD + 1);
    expect(blocks.mark).toBe(900);
    blocks.isRead(HEAD + 2);
    expect(blocks.mark).toBe(1000);
  });

  test('is not what a head is that a later answer lacks: the database may have fallen back', () => {
    blocks.headIs(HEAD, 900);
    blocks.headIs(HEAD + 1, 1000);
    blocks.isAbsent(HEAD + 1, 1600);
    blocks.headIs(HEAD + 1, 1700);
    expect(blocks.mark).toBe(900);
    blocks.isRead(HEAD + 1);
    expect(blocks.mark).toBe(1700);
  });

  test('is given up by an answer of 60 s after it was first missed, however old its number is', () => {
    blocks.headIs(HEAD + 2, 1000);
    blocks.isRead(HEAD + 2);
    for (let n = 1; n <= 20; n++) {
      blocks.headIs(HEAD + 2 + n * 100, 1000 + n * 10);
      for (const seqno of range(HEAD + 2 + (n - 1) * 100, HEAD + 2 + n * 100)) blocks.isRead(seqno);
    }
    blocks.isAbsent(HEAD + 1, 60_999);
    expect(blocks.unread).toEqual([HEAD + 1]);
    blocks.isAbsent(HEAD + 1, 61_000);
    expect(blocks.unread).toEqual([]);
    expect(blocks.mark).toBe(1200);
  });

  test('is not begun by an absence that is older than the answer that showed the block', () => {
    blocks.headIs(HEAD + 1, 1000);
    blocks.isAbsent(HEAD + 1, 990);
    expect(blocks.mark).toBe(0);
  });

  test('is not begun by a replica that lacks a block which another one has', () => {
    blocks.headIs(HEAD + 1, 1000);
    blocks.isThere(HEAD + 1, 1010);
    blocks.isAbsent(HEAD + 1, 1020);
    expect(blocks.mark).toBe(0);
  });

  test('begins nothing anew, however many there are', () => {
    const there = range(HEAD + 991, HEAD + 1000);
    blocks.forgetHead();
    blocks.begin([...range(HEAD, HEAD), ...there], HEAD + 991, 1000);
    for (const seqno of there) blocks.isRead(seqno);
    expect(blocks.unread).toHaveLength(990);
    expect(blocks.mustBeginAnew(60_000)).toBe(false);
  });

  test('keeps its time, and is to be read once it is there, when the follower starts again', () => {
    const listed = range(HEAD - 899, HEAD + 100);
    blocks.begin(
      listed.filter((seqno) => seqno !== HEAD && seqno !== HEAD + 1),
      HEAD + 101,
      1000,
    );
    blocks.begin(
      listed.filter((seqno) => seqno !== HEAD),
      HEAD + 101,
      50_000,
    );
    expect(blocks.unread).toEqual([HEAD, HEAD + 1]);
    blocks.isRead(HEAD + 1);
    blocks.isAbsent(HEAD, 61_000);
    expect(blocks.unread).toEqual([]);
    blocks.begin(
      listed.filter((seqno) => seqno !== HEAD),
      HEAD + 101,
      62_000,
    );
    expect([blocks.unread, blocks.mark]).toEqual([[], 62_000]);
  });
});

describe('the follower must begin anew', () => {
  test('when the head jumps by more than 300 blocks, or more are to be read', () => {
    blocks.headIs(HEAD + 300, 1000);
    expect(blocks.mustBeginAnew(1000)).toBe(false);
    blocks.headIs(HEAD + 301, 1001);
    expect(blocks.mustBeginAnew(1001)).toBe(true);
    blocks.begin(range(HEAD - 698, HEAD + 301), HEAD + 302, 2000);
    blocks.headIs(HEAD + 602, 2001);
    expect([blocks.mustBeginAnew(2001), blocks.mark]).toEqual([true, Number.NEGATIVE_INFINITY]);
  });

  test('when one of more than 300 gaps is there: its batch has been committed', () => {
    const listed = range(HEAD - 500, HEAD + 499);
    const withoutFirst = (gaps: number) => listed.filter((seqno) => seqno > HEAD + gaps || seqno <= HEAD);
    blocks.forgetHead();
    blocks.begin(withoutFirst(300), HEAD + 500, 1000);
    blocks.isThere(HEAD + 1, 1100);
    expect(blocks.mustBeginAnew(1100)).toBe(false);
    blocks.forgetHead();
    blocks.begin(withoutFirst(301), HEAD + 500, 2000);
    blocks.isThere(HEAD + 1, 2100);
    expect(blocks.mustBeginAnew(2100)).toBe(true);
  });

  test('when a block that is there could not be read for more than 60 s', () => {
    blocks.headIs(HEAD + 1, 1000);
    blocks.isThere(HEAD + 1, 1010);
    blocks.headIs(HEAD + 1, 60_000);
    expect([blocks.mustBeginAnew(61_000), blocks.mustBeginAnew(61_001)]).toEqual([false, true]);
  });

  test('when no head came for more than 60 s', () => {
    expect([blocks.mustBeginAnew(60_000), blocks.mustBeginAnew(60_001)]).toEqual([false, true]);
  });

  test.each([1, 5, 99, 800])('after two heads in a row that are %i blocks below the known one', (distance) => {
    blocks.headIs(HEAD - distance, 1000);
    expect(blocks.mustBeginAnew(1000)).toBe(false);
    blocks.headIs(HEAD - distance, 1150);
    expect(blocks.mustBeginAnew(1150)).toBe(true);
  });

  test('not if a head between them was not below the known one', () => {
    for (const [seqno, askedAt] of [
      [HEAD - 5, 1000],
      [HEAD, 1150],
      [HEAD - 5, 1600],
    ] as const)
      blocks.headIs(seqno, askedAt);
    expect(blocks.mustBeginAnew(1600)).toBe(false);
  });

  test.each([
    ['a block above the second', HEAD - 4, 1010, false],
    ['the second itself', HEAD - 5, 1010, true],
    ['a block above the second before the first was requested', HEAD - 4, 990, true],
  ])('after two low heads if a look or page shows %s: %#', (_, seqno, askedAt, must) => {
    blocks.headIs(HEAD - 5, 1000);
    blocks.isThere(seqno, askedAt);
    blocks.headIs(HEAD - 5, 1150);
    expect(blocks.mustBeginAnew(1150)).toBe(must);
  });
});

describe('a start that finds more blocks than can be read', () => {
  const begin = (first: number, last: number, at: number) => blocks.begin(range(first, last), last - 9, at);

  test.each([
    [300, 0],
    [301, 32_000],
    [1000, 32_000],
    [1001, 60_000],
  ])('above the known head is repeated: %i blocks, for %i ms', (jump, ms) => {
    blocks.headIs(HEAD + jump, 1000);
    const [first, last] = [HEAD + jump - 999, HEAD + jump];
    let waitedMs = 0;
    for (let step = -1; step !== 0; waitedMs += step) step = begin(first, last, 2000 + waitedMs);
    expect(waitedMs).toBe(ms);
    expect(blocks.unread).toEqual(range(last - 9, last));
  });

  test('above the last one that was read, after two shorter jumps, is repeated', () => {
    blocks.headIs(HEAD + 200, 1000);
    blocks.headIs(HEAD + 400, 1100);
    expect(begin(HEAD - 599, HEAD + 400, 2000)).toBe(10_000);
  });

  test('waits longer if there are even more blocks the next time', () => {
    expect(begin(HEAD + 1, HEAD + 1000, 2000)).toBe(10_000);
    expect(begin(HEAD + 3001, HEAD + 4000, 12_000)).toBe(10_000);
    expect(begin(HEAD + 3100, HEAD + 4099, 71_999)).toBe(1);
    expect(begin(HEAD + 3100, HEAD + 4099, 72_000)).toBe(0);
  });

  test('among its gaps is repeated after 32 s, and does not read them', () => {
    const [first, last] = [HEAD - 799, HEAD + 200];
    blocks.begin(
      range(first, last).filter((seqno) => seqno <= HEAD - 301 || seqno > HEAD),
      last + 1,
      1000,
    );
    blocks.forgetHead();
    expect(begin(first, last, 2000)).toBe(10_000);
    expect(begin(first, last, 33_999)).toBe(1);
    expect(begin(first, last, 34_000)).toBe(0);
    expect(blocks.unread).toEqual(range(last - 9, last));
  });

  test('knows nothing until the blocks of its list are read: meanwhile others are left out', () => {
    expect(blocks.mark).toBe(0);
    blocks.lose();
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    expect([begin(HEAD - 399, HEAD + 600, 2000), blocks.mark]).toEqual([10_000, Number.NEGATIVE_INFINITY]);
    expect([begin(HEAD - 319, HEAD + 680, 34_000), blocks.mark]).toEqual([0, Number.NEGATIVE_INFINITY]);
    for (const seqno of blocks.unread) blocks.isRead(seqno);
    expect(blocks.mark).toBe(34_000);
  });

  test('is not repeated when no blocks were followed before', () => {
    blocks.forgetHead();
    expect(begin(HEAD + 4001, HEAD + 5000, 2000)).toBe(0);
  });
});

describe('an older state of the database', () => {
  const READ_TO = HEAD + 90;

  /** Reads 90 blocks, and starts again at a head that is 90 blocks lower. */
  beforeEach(() => {
    blocks.headIs(READ_TO, 1000);
    for (const seqno of range(HEAD + 1, READ_TO)) blocks.isRead(seqno);
    expect(blocks.mark).toBe(1000);
    blocks.begin(range(HEAD - 999, HEAD), HEAD + 1, 40_000);
  });

  const readTo = (seqno: number, askedAt: number) => {
    blocks.headIs(seqno, askedAt);
    for (const each of blocks.unread) blocks.isRead(each);
  };

  test('lets nothing be proven until the newest block that was read is there again', () => {
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    readTo(READ_TO - 1, 41_000);
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    readTo(READ_TO, 42_000);
    expect(blocks.mark).toBe(42_000);
  });

  test('is remembered over another start, and for 10 minutes', () => {
    blocks.forgetHead();
    blocks.begin(range(HEAD - 998, HEAD + 1), HEAD + 2, 50_000);
    readTo(HEAD + 2, 600_999);
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    readTo(HEAD + 3, 601_000);
    expect(blocks.mark).toBe(601_000);
  });

  test('is not assumed after a head that was named, and that nobody could read', () => {
    blocks = new ReadBlocks();
    blocks.begin(range(HEAD - 999, HEAD), HEAD + 1, 0);
    blocks.headIs(HEAD + 75, 1000);
    blocks.begin(range(HEAD - 998, HEAD + 1), HEAD + 2, 2000);
    expect(blocks.mark).toBe(2000);
  });
});
