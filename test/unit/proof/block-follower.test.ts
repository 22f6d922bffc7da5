import { beforeEach, describe, expect, test } from 'vitest';
import { BlockFollower, type BlockSource, type Page } from '../../../src/proof/block-follower.ts';
import { Proofs } from '../../../src/proof/proofs.ts';
import { ReadBlocks } from '../../../src/proof/read-blocks.ts';
import { Touches } from '../../../src/proof/touches.ts';
import { isSurelyWhole } from '../../../src/ton/lists.ts';

const FIRST = 1000;
const BLOCK_MS = 400;

let now: number;
let source: FakeSource;
let blocks: ReadBlocks;
let touches: Touches;
let proofs: Proofs;
let follower: BlockFollower;
let cutting: string[];
/** The instants of the heads that the look-ups of owners got. */
let headsOfLookUps: number[];

/** An indexer that commits a block of two rows every 400 ms, and answers immediately. */
class FakeSource implements BlockSource {
  readonly asked: string[] = [];
  readonly missing = new Set<number>();
  /** A page has at most this many rows, whatever is requested: from the cache, and from the indexer. */
  cachedCap = Number.POSITIVE_INFINITY;
  cap = Number.POSITIVE_INFINITY;
  isUncounted = false;
  largestPage = 1000;
  rowsOfBlock = 2;
  fellBy = 0;
  aheadBy = 0;
  /** The time between two blocks, as their times show it. */
  secondsOfBlock = BLOCK_MS / 1000;
  /** When the head was polled. */
  readonly headsAt: number[] = [];
  isSilent = false;
  /** Pages come at the next step of the time. */
  isSlow = false;
  /** Its heads name blocks that are not there. */
  namesAheadBy = 0;
  readonly delayed: (() => void)[] = [];
  /** Its heads were requested by another instance. */
  isShared = false;

  get newestSeqno(): number {
    return FIRST + Math.floor(now / BLOCK_MS) - this.fellBy + this.aheadBy;
  }

  async head() {
    this.headsAt.push(now);
    const head = { seqno: this.newestSeqno + this.namesAheadBy, askedAt: now, indexer: '' };
    if (this.isSilent) return undefined;
    return this.isShared ? { ...head, isShared: true as const } : head;
  }

  async newest() {
    this.asked.push('newest');
    const seqnos = Array.from({ length: 1000 }, (_, n) => this.newestSeqno - n).filter(
      (each) => !this.missing.has(each),
    );
    return { blocks: seqnos.map((seqno) => ({ seqno, at: seqno * this.secondsOfBlock })), askedAt: now };
  }

  async count(seqno: number) {
    this.asked.push(`count ${seqno}`);
    return this.isUncounted ? undefined : this.rowsOfBlock;
  }

  async page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined> {
    if (this.isSilent) return undefined;
    this.asked.push(`page ${seqno} ${offset} ${limit}${pastCache ? ' past cache' : ''}`);
    if (this.isSlow) await new Promise<void>((resolve) => this.delayed.push(resolve));
    if (limit > this.largestPage) return 'refused';
    if (seqno > this.newestSeqno || this.missing.has(seqno)) return { state: 'absent', askedAt: now };
    const rows = Array.from({ length: this.rowsOfBlock }, (_, n) => ({
      account: `${n}`,
      lt: BigInt(seqno),
      hash: `${seqno}-${n}`,
      now: 0,
      seqno,
    }));
    const shown = rows.slice(
      offset,
      offset + Math.min(limit, pastCache ? this.cap : Math.min(this.cap, this.cachedCap)),
    );
    const isWhole = isSurelyWhole(shown, { query: [['limit', `${limit}`]], headers: [] });
    return { state: 'there', rows: shown, isWhole, askedAt: now, indexer: '' };
  }
}

/** Advances the time in steps of the follower's timer, with a tick at each step. */
async function pass(ms: number): Promise<void> {
  for (const end = now + ms; now < end; now += 50) {
    for (const release of source.delayed.splice(0)) release();
    follower.tick();
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let n = 0; n < 400; n++) await Promise.resolve();
}

/** Judges an answer that is requested now, about an account without transactions. */
function doubtOfAnswer() {
  const evidence = { kind: 'state', accounts: ['other'], hasClaims: false, lastLt: 0n } as const;
  const proof = proofs.proofOf(evidence, evidence.accounts, now);
  return () => proof?.doubt;
}

beforeEach(() => {
  now = 100_000;
  cutting = [];
  headsOfLookUps = [];
  source = new FakeSource();
  blocks = new ReadBlocks();
  const clock = () => now;
  touches = new Touches({ now: clock, keptMs: 362_000, maxBytes: 2 ** 25 });
  const boundsMs = { withClaims: 60_000, plain: 300_000 };
  proofs = new Proofs({ touches, blocks, now: clock, boundsMs });
  proofs.switched(true);
  follower = new BlockFollower({
    source,
    blocks,
    proofs,
    lookUps: { read: () => {}, headIs: (_, askedAt) => void headsOfLookUps.push(askedAt) },
    now: clock,
    onPagesCut: (indexer) => cutting.push(indexer),
    onBug: (error) => {
      throw error;
    },
  });
});

describe('the follower', () => {
  test('reads the blocks of the last 32 s, and is alive after that', async () => {
    expect(proofs.isBeginning).toBe(true);
    await pass(50);
    expect([proofs.isBeginning, proofs.isAlive]).toEqual([false, true]);
    expect(blocks.newestRead).toBe(source.newestSeqno);
    expect(source.asked.filter((what) => what.startsWith('page'))).toHaveLength(81);
  });

  test('stays alive, reads each new block once, and requests nothing else except the head', async () => {
    await pass(50);
    const before = blocks.newestRead;
    source.asked.length = 0;
    await pass(10_000);
    expect(proofs.isAlive).toBe(true);
    const read = Array.from({ length: blocks.newestRead - before }, (_, n) => before + n + 1);
    expect(read.length).toBeGreaterThan(20);
    expect(source.asked).toEqual(expect.arrayContaining(read.map((seqno) => `page ${seqno} 0 1000`)));
    expect(source.asked).toHaveLength(read.length);
  });

  test('is not alive from a second after the last answer until it has read the missed blocks', async () => {
    await pass(50);
    const doubt = doubtOfAnswer();
    source.isSilent = true;
    await pass(1100);
    expect(proofs.isAlive).toBe(false);
    await pass(4000);
    source.isSilent = false;
    await pass(1000);
    expect(proofs.isAlive).toBe(true);
    // No block was skipped: an answer that was requested before the outage is still proven.
    expect(doubt()).toBe(undefined);
  });

  test('starts again after a minute without answers: earlier answers are not proven', async () => {
    await pass(50);
    const doubt = doubtOfAnswer();
    source.isSilent = true;
    await pass(61_000);
    source.isSilent = false;
    await pass(2000);
    expect([proofs.isAlive, doubt()]).toEqual([true, 'asked-too-early']);
    expect(source.asked.filter((what) => what === 'newest').length).toBeGreaterThan(1);
  });

  test('reads blocks above a gap, and requests the missing block until it is there', async () => {
    await pass(50);
    const gap = source.newestSeqno + 1;
    source.missing.add(gap);
    await pass(4000);
    expect(blocks.unread).toEqual([gap]);
    expect(blocks.newestRead).toBe(blocks.head);
    expect(source.asked.filter((what) => what === `page ${gap} 0 1000`).length).toBeGreaterThan(10);
    source.missing.delete(gap);
    await pass(500);
    expect(blocks.unread).toEqual([]);
    expect(source.asked).toContain(`page ${gap} 0 1000`);
  });

  test('counts a gap and the blocks above the head as unread, and neither blocks that were read nor any before its start', async () => {
    expect([blocks.isUnread(source.newestSeqno), blocks.oldestUnread]).toEqual([false, Number.POSITIVE_INFINITY]);
    const gap = source.newestSeqno - 100;
    source.missing.add(gap);
    await pass(50);
    const { head } = blocks;
    expect([gap - 1, gap, gap + 1, head, head + 1].map((seqno) => blocks.isUnread(seqno))).toEqual([
      ...[false, true, false],
      ...[false, true],
    ]);
    expect(blocks.oldestUnread).toBe(gap);
    source.missing.delete(gap);
    await pass(500);
    expect(blocks.oldestUnread).toBe(blocks.head + 1);
  });

  test('is not alive while a gap is open, and skips no block', async () => {
    await pass(50);
    const doubt = doubtOfAnswer();
    const gap = source.newestSeqno + 1;
    source.missing.add(gap);
    await pass(4000);
    expect(proofs.isAlive).toBe(false);
    source.missing.delete(gap);
    await pass(500);
    expect(proofs.isAlive).toBe(true);
    expect(doubt()).toBe(undefined);
  });

  test('reads each block of a batch that is committed after newer blocks', async () => {
    await pass(50);
    const [first, last] = [source.newestSeqno + 1, source.newestSeqno + 100];
    for (let seqno = first; seqno <= last; seqno++) source.missing.add(seqno);
    source.aheadBy = 140;
    await pass(6000);
    expect(proofs.isAlive).toBe(false);
    source.missing.clear();
    await pass(10_000);
    expect(proofs.isAlive).toBe(true);
    const read = Array.from({ length: 100 }, (_, n) => `page ${first + n} 0 1000`);
    expect(source.asked).toEqual(expect.arrayContaining(read));
    expect(source.asked.filter((what) => what === 'newest')).toHaveLength(1);
  });

  test('requests each of many gaps again, the one that has waited longest first, after new blocks', async () => {
    const gaps = Array.from({ length: 400 }, (_, n) => source.newestSeqno - 900 + n);
    for (const gap of gaps) source.missing.add(gap);
    source.isSlow = true;
    await pass(30_000);
    const looked = gaps.map((gap) => source.asked.filter((what) => what.startsWith(`page ${gap} `)).length);
    expect(Math.max(...looked)).toBeGreaterThan(1);
    expect(Math.min(...looked)).toBeGreaterThanOrEqual(Math.max(...looked) - 1);
    expect(blocks.newestRead).toBeGreaterThanOrEqual(blocks.head - 1);
    expect(source.asked.filter((what) => what === 'newest')).toHaveLength(1);
  });

  test('finds a gap among the 1000 blocks before its start, and gives it up after 60 s', async () => {
    const gap = source.newestSeqno - 998;
    source.missing.add(gap);
    await pass(59_900);
    expect([blocks.unread, proofs.isAlive]).toEqual([[gap], false]);
    await pass(500);
    expect([blocks.unread, proofs.isAlive]).toEqual([[], true]);
  });

  test('is not alive for 60 s after a jump of more than 1000 blocks', async () => {
    await pass(50);
    source.aheadBy = 1001;
    await pass(59_900);
    expect([blocks.unread, proofs.isAlive]).toEqual([[], false]);
    await pass(1000);
    expect(proofs.isAlive).toBe(true);
  });

  test.each([10, 20, 50, 100, 128, 200, 250, 256, 500])(
    'counts a block with a page of %i rows, which a provider may have cut',
    async (rows) => {
      source.rowsOfBlock = rows;
      await pass(50);
      const seqno = source.newestSeqno;
      expect(source.asked.filter((what) => what.includes(` ${seqno}`))).toEqual([
        `page ${seqno} 0 1000`,
        `count ${seqno}`,
      ]);
      expect([proofs.isAlive, cutting]).toEqual([true, []]);
    },
  );

  test('does not take such a page for a block that cannot be counted', async () => {
    source.rowsOfBlock = 100;
    source.isUncounted = true;
    await pass(5000);
    expect([proofs.isAlive, blocks.newestRead]).toEqual([false, -1]);
  });

  test('reads an incomplete page again past the cache, and counts the block as read only after that', async () => {
    source.rowsOfBlock = 60;
    await pass(50);
    source.cachedCap = 50;
    source.asked.length = 0;
    await pass(700);
    const seqno = source.newestSeqno;
    expect(blocks.unread).toContain(seqno);
    await pass(2500);
    const pages = source.asked.filter((what) => what.startsWith(`page ${seqno} `));
    expect(pages).toEqual([`page ${seqno} 0 1000`, `page ${seqno} 0 1000 past cache`]);
    expect(blocks.unread).not.toContain(seqno);
  });

  test('counts every block of an indexer that has cut a page, and reports it once', async () => {
    source.rowsOfBlock = 60;
    await pass(50);
    source.cap = 50;
    await pass(3000);
    expect([proofs.isAlive, cutting]).toEqual([false, ['']]);
    source.rowsOfBlock = 40;
    await pass(30_000);
    const seqno = blocks.newestRead;
    expect(source.asked).toContain(`count ${seqno}`);
    expect([proofs.isAlive, cutting]).toEqual([true, ['']]);
    // No cap is known that would show it without the count.
    source.cap = 37;
    await pass(3000);
    expect(proofs.isAlive).toBe(false);
  });

  test('reads all pages of a large block', async () => {
    source.rowsOfBlock = 2400;
    const seqno = source.newestSeqno;
    await pass(350);
    expect(source.asked.filter((what) => what.startsWith(`page ${seqno} `))).toEqual(
      [0, 1000, 2000].map((offset) => `page ${seqno} ${offset} 1000`),
    );
    expect(cutting).toEqual([]);
    expect([blocks.unread, touches.lastOf('2399')]).toEqual([[], expect.any(Number)]);
  });

  test('reads smaller pages if the indexer refuses the page size', async () => {
    source.largestPage = 100;
    source.rowsOfBlock = 150;
    await pass(2000);
    expect(proofs.isAlive).toBe(true);
    expect(source.asked).toContain(`page ${blocks.newestRead} 100 100`);
  });

  test.each([150, 50, 2])(
    'starts again when the head has fallen by %i blocks in two polls, and is alive when they are there',
    async (fellBy) => {
      await pass(50);
      const doubt = doubtOfAnswer();
      source.headsAt.length = 0;
      source.fellBy = fellBy;
      await pass(2000);
      expect(source.asked.filter((what) => what === 'newest')).toHaveLength(2);
      const [first = 0, second = 0] = source.headsAt;
      expect(second - first).toBe(150);
      expect(proofs.isAlive).toBe(fellBy === 2);
      await pass(fellBy * BLOCK_MS);
      expect([proofs.isAlive, doubt()]).toEqual([true, 'asked-too-early']);
    },
  );

  test.each([60, 90, 300, 5000])('is alive again soon after one head that is %i blocks too high', async (aheadBy) => {
    await pass(50);
    source.headsAt.length = 0;
    source.namesAheadBy = aheadBy;
    while (source.headsAt.length === 0) await pass(50);
    source.namesAheadBy = 0;
    await pass(2500);
    expect(proofs.isAlive).toBe(true);
    expect(blocks.head).toBeLessThanOrEqual(source.newestSeqno);
  });

  test('does not start again when one poll is answered by a replica that lags', async () => {
    await pass(50);
    source.fellBy = 5;
    source.headsAt.length = 0;
    while (source.headsAt.length === 0) await pass(50);
    source.fellBy = 0;
    await pass(1500);
    expect(source.asked.filter((what) => what === 'newest')).toHaveLength(1);
    expect(proofs.isAlive).toBe(true);
  });

  test('reads the blocks of the last 32 s, although they are more than a usual chain has in that time', async () => {
    source.secondsOfBlock = 0.12;
    await pass(1000);
    expect([proofs.isAlive, source.asked.filter((what) => what === 'newest').length]).toEqual([true, 1]);
    expect(source.asked.filter((what) => what.startsWith('page')).length).toBeGreaterThan(250);
  });

  test('knows no mark from a new beginning until the blocks are read', async () => {
    await pass(50);
    source.isSlow = true;
    follower.beginAnew();
    expect(blocks.mark).toBe(Number.NEGATIVE_INFINITY);
    await pass(100);
    expect([blocks.mark, proofs.isBeginning]).toEqual([Number.NEGATIVE_INFINITY, true]);
    source.isSlow = false;
    await pass(1000);
    expect([blocks.mark > 100_000, proofs.isBeginning]).toEqual([true, false]);
  });

  test('after a stop reads the blocks of the last 32 s, and takes no later head for a jump', async () => {
    await pass(50);
    follower.stop();
    now += 600_000;
    expect(proofs.isAlive).toBe(false);
    await pass(50);
    expect(proofs.isAlive).toBe(true);
  });

  // Otherwise a head from before a block was read here would look like one from after it.
  test.each([
    [true, 250],
    [false, 0],
  ])(
    'takes a head for owners as early as the clocks of two instances allow: shared %s',
    async (isShared, earlierMs) => {
      source.isShared = isShared;
      await pass(50);
      expect(headsOfLookUps).toEqual([100_000 - earlierMs]);
    },
  );
});
