import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BlockFollower, type BlockSource } from '../../src/proof/block-follower.ts';
import { ReadBlocks } from '../../src/proof/read-blocks.ts';
import { NOT_SHARED, SharedHeads } from '../../src/proof/shared-heads.ts';
import { RedisOfHeads } from '../support/redis-of-heads.ts';

const [INSTANCES, BLOCK_MS, SECONDS] = [8, 400, 60];

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An indexer that answers after this time, with the state of half of it. Counts polls of the head. */
class Indexer {
  polls = 0;
  readonly #roundTripMs: number;

  constructor(roundTripMs: number) {
    this.#roundTripMs = roundTripMs;
  }

  async head(): Promise<number> {
    this.polls++;
    return this.#answer(() => Math.floor(Date.now() / BLOCK_MS));
  }

  async #answer<T>(look: () => T): Promise<T> {
    await later(this.#roundTripMs / 2);
    const answer = look();
    await later(this.#roundTripMs / 2);
    return answer;
  }

  sourceOf(heads: SharedHeads | undefined): BlockSource {
    const page = () => this.#answer(() => Math.floor(Date.now() / BLOCK_MS));
    return {
      head: async (known) => {
        const turn = (await heads?.next()) ?? NOT_SHARED;
        if ('seqno' in turn) return turn;
        const askedAt = Date.now();
        const seqno = await this.head();
        expect(seqno).toBeGreaterThanOrEqual(known);
        heads?.share(turn, { seqno, askedAt, indexer: '' }, Date.now() - askedAt);
        return { seqno, askedAt, indexer: '' };
      },
      newest: async () => {
        const askedAt = Date.now();
        const head = await page();
        return { blocks: Array.from({ length: 100 }, (_, n) => ({ seqno: head - n, at: (head - n) * 0.4 })), askedAt };
      },
      page: async (seqno) => {
        const askedAt = Date.now();
        const isThere = (await page()) >= seqno;
        return isThere
          ? { state: 'there', rows: [], isWhole: true, askedAt, indexer: '' }
          : { state: 'absent', askedAt };
      },
      count: async () => 0,
    };
  }
}

/** The part of the time in which the followers are alive, and the polls of the head a second, in the second half. */
async function follow(roundTripMs: number, isShared: boolean): Promise<{ alive: number; polls: number }> {
  const indexer = new Indexer(roundTripMs);
  const redis = new RedisOfHeads();
  redis.delayMs = 2;
  const now = Date.now;
  const followers = Array.from({ length: INSTANCES }, () => {
    const blocks = new ReadBlocks();
    const dependencies = { redis, redisKey: '', isClockShared: () => true, budgetMs: 100, now, monotonic: now };
    const follower = new BlockFollower({
      source: indexer.sourceOf(isShared ? new SharedHeads(dependencies) : undefined),
      blocks,
      proofs: { read: () => {}, skipped: () => {}, caughtUp: () => {} },
      now,
      onPagesCut: () => {},
      onBug: (error) => {
        throw error;
      },
    });
    return { blocks, follower };
  });
  let [alive, looks] = [0, 0];
  for (let ms = 0; ms < SECONDS * 1000; ms += 10) {
    if (ms === (SECONDS * 1000) / 2) indexer.polls = 0;
    for (const [place, { follower, blocks }] of followers.entries()) {
      // They start at different times.
      if (ms >= place * 130 && (ms / 10 + place) % 5 === 0) follower.tick();
      if (ms < (SECONDS * 1000) / 2) continue;
      looks++;
      alive += Number(now() - blocks.mark < 1000);
    }
    await vi.advanceTimersByTimeAsync(10);
  }
  return { alive: alive / looks, polls: indexer.polls / (SECONDS / 2) };
}

test.each([20, 50, 150, 250])(
  'eight instances poll the head at most 5 times a second in all, and are alive: %i ms away',
  async (ms) => {
    const { alive, polls } = await follow(ms, true);
    expect(polls).toBeLessThanOrEqual(5);
    expect(polls).toBeGreaterThan(1);
    expect(alive).toBeGreaterThanOrEqual(Math.min(0.99, (await follow(ms, false)).alive));
  },
);

test('eight instances that are 350 ms away ask by themselves, and are alive as long as without sharing', async () => {
  const shared = await follow(350, true);
  const alone = await follow(350, false);
  expect(alone.alive).toBeGreaterThan(0.3);
  expect(shared.alive).toBeGreaterThanOrEqual(alone.alive - 0.01);
});
