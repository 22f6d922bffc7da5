import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Heads } from '../../../src/fleet/heads.ts';
import type { HeadFault } from '../../../src/indexer/head.ts';
import type { ChainHead } from '../../../src/ton/chain-point.ts';

const MAX_LAG = 12;
const NOW = 1_800_000_000_000;
/** The newest block of the mainnet in these tests. */
const NEWEST = 62_000_000;
const BLOCK_MS = 400;

/** The head of an indexer whose chain is this many blocks behind. */
const behindBy = (blocks: number): ChainHead => headAt(NEWEST - blocks, blocks * BLOCK_MS);
const headAt = (seqno: number, ageMs = 0): ChainHead => {
  const at = Math.floor((NOW - ageMs) / 1000) * 1000;
  return { at, seqno, first: 1, globalId: -239 };
};

/** An indexer whose answers to head polls are set by the test. */
class FakeHead {
  fault: HeadFault | undefined;
  asked = 0;
  says: () => Promise<ChainHead | undefined>;
  constructor(says: () => Promise<ChainHead | undefined>) {
    this.says = says;
  }
  ask(): Promise<ChainHead | undefined> {
    this.asked++;
    return this.says();
  }
}

const saying = (head: ChainHead | undefined) => new FakeHead(async () => head);
const silent = () => new FakeHead(() => new Promise(() => {}));

function compared(...heads: FakeHead[]) {
  const changes: string[] = [];
  const all = new Heads({
    replicas: heads.map((head) => ({ head, polls: head })),
    now: () => performance.now(),
    onBehind: (index, isBehind) => changes.push(`${index} ${isBehind}`),
    askEveryMs: () => 500,
    maxLag: MAX_LAG,
  });
  return { all, changes, lags: () => heads.map((_, index) => all.lag(index)) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('an indexer that is behind stays behind while the newest one has not answered the head poll, or fails to answer it', async () => {
  const answers = [Promise.withResolvers<ChainHead | undefined>(), Promise.withResolvers<ChainHead | undefined>()];
  const heads = answers.map((_, index) => new FakeHead(async () => answers[index]?.promise));
  const { all, changes, lags } = compared(...heads);
  const asked = all.ask();
  answers[1]?.resolve(behindBy(500));
  await Promise.resolve();
  answers[0]?.resolve(behindBy(0));
  await asked;
  expect([lags(), changes]).toEqual([[0, 500], ['1 true']]);

  answers[0] = Promise.withResolvers();
  const again = all.ask();
  await vi.advanceTimersByTimeAsync(10);
  expect(all.isBehind(1)).toBe(true);
  answers[0].resolve(undefined);
  await again;
  expect([all.lag(1), changes]).toEqual([500, ['1 true']]);
});

describe('the heads of one round', () => {
  test('are compared one second after its start, without the head of an indexer that hangs', async () => {
    const { all, lags } = compared(saying(behindBy(0)), saying(behindBy(1000)), silent());
    const asked = all.ask();
    await vi.advanceTimersByTimeAsync(999);
    expect(lags()).toEqual([0, 0, 0]);
    await vi.advanceTimersByTimeAsync(1);
    await asked;
    expect(lags()).toEqual([0, 1000, 0]);
  });

  test('are the reference for a head that comes after the others, which is not a reference for them', async () => {
    const last = Promise.withResolvers<ChainHead>();
    const { all, lags } = compared(saying(behindBy(3)), saying(behindBy(4)), new FakeHead(() => last.promise));
    const asked = all.ask();
    await vi.advanceTimersByTimeAsync(1000);
    await asked;
    last.resolve(behindBy(0));
    await vi.advanceTimersByTimeAsync(0);
    expect(lags()).toEqual([0, 1, 0]);

    const later = Promise.withResolvers<ChainHead>();
    const slow = compared(saying(behindBy(0)), new FakeHead(() => later.promise));
    const askedAgain = slow.all.ask();
    await vi.advanceTimersByTimeAsync(1000);
    await askedAgain;
    later.resolve(behindBy(50));
    await vi.advanceTimersByTimeAsync(0);
    expect([slow.lags(), slow.changes]).toEqual([[0, 50], ['1 true']]);
  });

  test('do not include the head of an indexer that has died since', async () => {
    const dying = saying(headAt(NEWEST + 900));
    const { all, lags, changes } = compared(saying(behindBy(0)), dying);
    await all.ask();
    expect(lags()).toEqual([900, 0]);
    dying.says = async () => undefined;
    for (let round = 0; round < 3; round++) await all.ask();
    expect([lags(), changes]).toEqual([
      [0, 0],
      ['0 true', '0 false'],
    ]);
  });

  test('count with the largest lag of three rounds, because a round may fall between two commits', async () => {
    const older = saying(behindBy(1));
    const { all, lags } = compared(older, saying(behindBy(0)));
    const seen: number[] = [];
    for (const blocks of [1, 0, 0, 2, 0, 0, 0]) {
      older.says = async () => behindBy(blocks);
      await all.ask();
      seen.push(lags()[0] ?? 0);
    }
    expect(seen).toEqual([1, 1, 1, 2, 2, 2, 0]);
  });
});

test('a head that does not count is not a reference', async () => {
  for (const fault of ['lacks-block', 'other-chain'] as const) {
    const other = saying(headAt(NEWEST + 900));
    other.fault = fault;
    const { all, lags } = compared(saying(behindBy(0)), other);
    await all.ask();
    expect(lags()).toEqual([0, 0]);
  }
});
test('the heads are polled while requests are sent, at the given interval', async () => {
  const head = saying(behindBy(0));
  const { all } = compared(head, saying(behindBy(0)));
  for (let ms = 0; ms < 5000; ms += 10) {
    all.askIfDue();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(head.asked).toBe(10);
});
