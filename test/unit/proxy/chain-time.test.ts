import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ChainTime } from '../../../src/proxy/chain-time.ts';
import type { GivenChainTime, MergedChainTime, SharedChainTime } from '../../../src/proxy/shared-chain-time.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 1_800_000_000_000;

let now: number;
/** How far the indexer is behind our clock; `undefined`: it does not say. */
let behindMs: number | undefined;
let asks: number;

beforeEach(() => {
  now = START;
  behindMs = 0;
  asks = 0;
});

function chainTime(shared?: SharedChainTime, askHead?: () => Promise<number | undefined>): ChainTime {
  const head = async () => {
    asks++;
    return behindMs === undefined ? undefined : now - behindMs;
  };
  return new ChainTime({ askHead: askHead ?? head, shared, now: () => now });
}

describe('the newest chain time', () => {
  test('is unknown at first, and then the newest that any answer showed', () => {
    const time = chainTime();
    expect(time.newestAt).toBeUndefined();
    for (const [shown, newest] of [
      [undefined, undefined],
      [START - HOUR, START - HOUR],
      [START - DAY, START - HOUR],
      [START - MINUTE, START - MINUTE],
      [undefined, START - MINUTE],
    ]) {
      time.learn(shown);
      expect(time.newestAt).toBe(newest);
    }
  });

  test('is never a time that no chain can have reached', async () => {
    const time = chainTime();
    time.learn(START - HOUR);
    for (const absurd of [START + DAY, 1e300, Number.POSITIVE_INFINITY]) time.learn(absurd);
    expect(time.newestAt).toBe(START - HOUR);
    behindMs = -DAY;
    expect(await time.upToDate()).toBe(START - HOUR);
  });

  test('may be a little ahead of our clock, because our clock can be slow', () => {
    const time = chainTime();
    time.learn(START + 10 * MINUTE);
    expect(time.newestAt).toBe(START + 10 * MINUTE);
  });

  test('does not go back when the head does, as with replicas behind one address', async () => {
    const time = chainTime();
    time.learn(START - MINUTE);
    behindMs = HOUR;
    expect(await time.upToDate()).toBe(START - MINUTE);
  });
});

describe('an indexer that is set back', () => {
  /** Known from the head, which goes back by `ms` then. */
  async function setBack(ms: number): Promise<ChainTime> {
    const time = chainTime();
    await time.upToDate();
    behindMs = ms;
    return time;
  }

  test('is believed when it has shown no newer time for 60 s', async () => {
    const time = await setBack(3 * HOUR);
    now = START + MINUTE;
    expect(time.newestAt).toBe(START);
    expect(await time.upToDate()).toBe(START);
    // The head was asked for just now.
    now += 10 * SECOND;
    expect(time.newestAt).toBeUndefined();
    expect(await time.upToDate()).toBe(now - 3 * HOUR);
    expect(time.newestAt).toBe(now - 3 * HOUR);
  });

  test('is followed while it catches up', async () => {
    const time = await setBack(3 * HOUR);
    now += 2 * MINUTE;
    await time.upToDate();
    for (let second = 1; second <= 60; second++) {
      now += SECOND;
      time.learn(START - 3 * HOUR + second * MINUTE);
    }
    expect(time.newestAt).toBe(START - 2 * HOUR);
  });

  test('is asked for its head before any answer counts by the time that it once had', async () => {
    const time = await setBack(12 * HOUR);
    now += MINUTE + 1;
    expect(time.newestAt).toBeUndefined();
    time.learn(START - 12 * HOUR);
    expect(time.newestAt).toBeUndefined();
    await time.upToDate();
    expect(time.newestAt).toBe(now - 12 * HOUR);
  });

  test('is not suspected while answers show the same time or a newer one', async () => {
    const time = await setBack(5 * MINUTE);
    for (let shown = START; now < START + 10 * MINUTE; now += 50 * SECOND) {
      if (now % (150 * SECOND) === 0) shown = now;
      time.learn(shown);
      expect(await time.upToDate()).toBe(shown);
      expect(time.newestAt).toBe(shown);
    }
    // The head was asked for meanwhile, and each time showed an older time.
    expect(asks).toBe(5);
  });

  test('is believed at once after our clock was set forward', async () => {
    const time = await setBack(3 * HOUR + DAY);
    now += DAY;
    expect(await time.upToDate()).toBe(START - 3 * HOUR);
  });

  test('is believed a minute after our clock was set back', async () => {
    const time = await setBack(3 * HOUR);
    now -= HOUR;
    expect(await time.upToDate()).toBe(START);
    now += MINUTE + 1;
    expect(await time.upToDate()).toBe(now - 3 * HOUR);
  });

  test('never leaves a time that was neither shown in the last 60 s nor the head', async () => {
    const seconds = fc.integer({ min: 0, max: 100 });
    const step = fc.record({ passS: seconds, shows: fc.constantFrom('head', 'answer'), agoS: fc.nat(1000) });
    const steps = fc.array(step, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        now = START;
        const time = chainTime();
        const shown: { at: number; chainAt: number }[] = [];
        for (const { passS, shows, agoS } of story) {
          now += passS * SECOND;
          behindMs = agoS * SECOND;
          const chainAt = now - behindMs;
          const before = asks;
          if (shows === 'answer') time.learn(chainAt);
          else await time.upToDate();
          if (shows === 'answer' || asks > before) shown.push({ at: now, chainAt });
          if (asks === before) continue;
          const recent = shown.filter(({ at }) => now - at <= MINUTE).map((one) => one.chainAt);
          expect(time.newestAt).toBeLessThanOrEqual(Math.max(...recent));
          expect(time.newestAt).toBeGreaterThanOrEqual(chainAt);
        }
      }),
    );
  });
});

describe('the head is asked for', () => {
  test('when no chain time is known', async () => {
    const time = chainTime();
    behindMs = HOUR;
    expect(await time.upToDate()).toBe(START - HOUR);
    expect(asks).toBe(1);
  });

  test('at most once in 10 s', async () => {
    const time = chainTime();
    for (now = START; now < START + 30 * SECOND; now += 100) await time.upToDate();
    expect(asks).toBe(3);
  });

  test('once for all requests that need it at the same time', async () => {
    const time = chainTime();
    expect(await Promise.all(Array.from({ length: 50 }, () => time.upToDate()))).toEqual(Array(50).fill(START));
    expect(asks).toBe(1);
  });

  test('not while answers show it, however far the indexer is behind', async () => {
    const time = chainTime();
    behindMs = HOUR;
    await time.upToDate();
    for (; now < START + 10 * MINUTE; now += SECOND) {
      time.learn(now - HOUR);
      expect(await time.upToDate()).toBe(now - HOUR);
    }
    expect(asks).toBe(1);
  });

  test('not while answers show that the indexer catches up', async () => {
    const time = chainTime();
    behindMs = HOUR;
    await time.upToDate();
    for (; now < START + 5 * MINUTE; now += SECOND) {
      time.learn(START - HOUR + (now - START) * 10);
      await time.upToDate();
    }
    expect(asks).toBe(1);
  });

  test('although answers show newer and newer times, when those are far in the past', async () => {
    const time = chainTime();
    for (; now < START + MINUTE; now += SECOND) {
      time.learn(START - 300 * DAY + (now - START) * 100);
      await time.upToDate();
    }
    expect(asks).toBe(6);
  });

  test('although answers show newer and newer times, when they fall behind little by little', async () => {
    const time = chainTime();
    for (; now < START + 10 * MINUTE; now += SECOND) {
      time.learn(START + (now - START) / 2);
      expect(now - ((await time.upToDate()) ?? 0)).toBeLessThanOrEqual(20 * SECOND);
    }
  });

  test('less and less often when the indexer cannot say it, down to once a minute', async () => {
    const time = chainTime();
    time.learn(START - DAY);
    behindMs = undefined;
    const askedAt: number[] = [];
    for (; now < START + 4 * MINUTE; now += 500) {
      const before = asks;
      expect(await time.upToDate()).toBe(START - DAY);
      if (asks > before) askedAt.push((now - START) / SECOND);
    }
    expect(askedAt).toEqual([0, 10, 30, 70, 130, 190]);
    behindMs = 0;
    for (const until = now + 75 * SECOND; now < until; now += 500) await time.upToDate();
    behindMs = undefined;
    asks = 0;
    for (const until = now + 25 * SECOND; now < until; now += 500) await time.upToDate();
    expect(asks).toBe(2);
  });

  test('again when our clock was set back', async () => {
    const time = chainTime();
    await time.upToDate();
    now -= DAY;
    await time.upToDate();
    expect(asks).toBe(2);
  });

  test('and waited for no longer than a second; a later answer is used then', async () => {
    vi.useFakeTimers();
    try {
      const { promise, resolve } = Promise.withResolvers<number>();
      const time = chainTime(undefined, () => promise);
      time.learn(START - DAY);
      const waiting = time.upToDate();
      await vi.advanceTimersByTimeAsync(999);
      const settled = vi.fn();
      void waiting.then(settled);
      await vi.advanceTimersByTimeAsync(0);
      expect(settled).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(await waiting).toBe(START - DAY);
      // While that request is still in flight, no other one waits for it again.
      expect(await time.upToDate()).toBe(START - DAY);
      resolve(START - HOUR);
      await vi.advanceTimersByTimeAsync(0);
      expect(time.newestAt).toBe(START - HOUR);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('with other instances', () => {
  let given: GivenChainTime[];
  let merged: MergedChainTime | undefined;
  const shared: SharedChainTime = {
    exchange: async (known) => {
      given.push(known);
      return merged;
    },
  };

  beforeEach(() => {
    given = [];
    merged = undefined;
  });

  test('the head is not asked for when one of them has just asked', async () => {
    merged = { newestAt: START - HOUR, shownAt: START - 5 * SECOND, headSeenAt: START - 5 * SECOND, mayAsk: false };
    const time = chainTime(shared);
    expect(await time.upToDate()).toBe(START - HOUR);
    expect(asks).toBe(0);
  });

  test('only one at a time asks, and the others look for its answer a second later', async () => {
    merged = { newestAt: START - DAY, shownAt: START - HOUR, headSeenAt: START - HOUR, mayAsk: false };
    const time = chainTime(shared);
    expect(await time.upToDate()).toBe(START - DAY);
    await time.upToDate();
    expect(given).toHaveLength(1);
    now += SECOND;
    merged = { newestAt: START, shownAt: START + 200, headSeenAt: START + 200, mayAsk: false };
    expect(await time.upToDate()).toBe(START);
    expect(asks).toBe(0);
  });

  test('the answer is shared with the others', async () => {
    merged = { newestAt: 0, shownAt: 0, headSeenAt: 0, mayAsk: true };
    behindMs = MINUTE;
    await chainTime(shared).upToDate();
    expect(asks).toBe(1);
    expect(given).toMatchObject([
      { newestAt: 0, shownAt: 0, headSeenAt: 0, askEveryMs: 10 * SECOND },
      { newestAt: START - MINUTE, shownAt: START, headSeenAt: START, askEveryMs: 0 },
    ]);
  });

  test('times in answers are shared with the others, at most once in 10 s', async () => {
    merged = { newestAt: 0, shownAt: 0, headSeenAt: 0, mayAsk: true };
    const time = chainTime(shared);
    await time.upToDate();
    given = [];
    for (; now < START + 35 * SECOND; now += 400) time.learn(now);
    expect(given).toHaveLength(3);
    expect(given.every(({ askEveryMs }) => askEveryMs === 0)).toBe(true);
  });

  test('each asks by itself without Redis', async () => {
    const time = chainTime(shared);
    expect(await time.upToDate()).toBe(START);
    expect(asks).toBe(1);
  });

  test('a clock that is ahead of ours does no harm', async () => {
    const aheadAt = START + 30 * SECOND;
    merged = { newestAt: START, shownAt: aheadAt, headSeenAt: aheadAt, mayAsk: false };
    const time = chainTime(shared);
    expect(await time.upToDate()).toBe(START);
    now += MINUTE + 1;
    expect(time.newestAt).toBeUndefined();
  });

  test('an answer that comes while Redis is asked is not forgotten', async () => {
    merged = { newestAt: START - HOUR, shownAt: START, headSeenAt: START, mayAsk: false };
    const time = chainTime(shared);
    const updated = time.upToDate();
    time.learn(START - MINUTE);
    expect(await updated).toBe(START - MINUTE);
  });

  test('nothing is said to be shown in the future after our clock was set back', async () => {
    const time = chainTime(shared);
    await time.upToDate();
    now -= DAY;
    given = [];
    await time.upToDate();
    const instants = given.flatMap(({ shownAt, headSeenAt }) => [shownAt, headSeenAt]);
    expect(instants).toEqual([now, now, now, now]);
  });
});
