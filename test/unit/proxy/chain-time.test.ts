import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DAY, HOUR, MINUTE, ScriptedChain, SECOND } from '../../support/scripted-chain.ts';

const { START } = ScriptedChain;

let chain: ScriptedChain;

beforeEach(() => {
  chain = new ScriptedChain();
});

describe('the newest chain time', () => {
  test('is unknown at first, and then the newest that any answer showed', () => {
    const time = chain.chainTime();
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
    const time = chain.chainTime();
    time.learn(START - HOUR);
    for (const absurd of [START + DAY, 1e300, Number.POSITIVE_INFINITY]) time.learn(absurd);
    expect(time.newestAt).toBe(START - HOUR);
    chain.behindMs = -DAY;
    expect(await time.upToDate()).toBe(START - HOUR);
  });

  test('may be a little ahead of our clock, because our clock can be slow', () => {
    const time = chain.chainTime();
    time.learn(START + 10 * MINUTE);
    expect(time.newestAt).toBe(START + 10 * MINUTE);
  });

  test('does not go back when the head does, as with replicas behind one address', async () => {
    const time = chain.chainTime();
    time.learn(START - MINUTE);
    chain.behindMs = HOUR;
    expect(await time.upToDate()).toBe(START - MINUTE);
  });
});

describe('the head is asked for', () => {
  test('when no chain time is known', async () => {
    const time = chain.chainTime();
    chain.behindMs = HOUR;
    expect(await time.upToDate()).toBe(START - HOUR);
    expect(chain.asks).toBe(1);
  });

  test('at most once in 10 s', async () => {
    const time = chain.chainTime();
    for (chain.now = START; chain.now < START + 30 * SECOND; chain.now += 100) await time.upToDate();
    expect(chain.asks).toBe(3);
  });

  test('once for all requests that need it at the same time', async () => {
    const time = chain.chainTime();
    expect(await Promise.all(Array.from({ length: 50 }, async () => time.upToDate()))).toEqual(Array(50).fill(START));
    expect(chain.asks).toBe(1);
  });

  test('not while answers show it, however far the indexer is behind', async () => {
    const time = chain.chainTime();
    chain.behindMs = HOUR;
    await time.upToDate();
    for (; chain.now < START + 10 * MINUTE; chain.now += SECOND) {
      time.learn(chain.now - HOUR);
      expect(await time.upToDate()).toBe(chain.now - HOUR);
    }
    expect(chain.asks).toBe(1);
  });

  test('not while answers show that the indexer catches up', async () => {
    const time = chain.chainTime();
    chain.behindMs = HOUR;
    await time.upToDate();
    for (; chain.now < START + 5 * MINUTE; chain.now += SECOND) {
      time.learn(START - HOUR + (chain.now - START) * 10);
      await time.upToDate();
    }
    expect(chain.asks).toBe(1);
  });

  test('although answers show newer and newer times, when those are far in the past', async () => {
    const time = chain.chainTime();
    for (; chain.now < START + MINUTE; chain.now += SECOND) {
      time.learn(START - 300 * DAY + (chain.now - START) * 100);
      await time.upToDate();
    }
    expect(chain.asks).toBe(6);
  });

  test('although answers show newer and newer times, when they fall behind little by little', async () => {
    const time = chain.chainTime();
    for (; chain.now < START + 10 * MINUTE; chain.now += SECOND) {
      time.learn(START + (chain.now - START) / 2);
      expect(chain.now - ((await time.upToDate()) ?? 0)).toBeLessThanOrEqual(20 * SECOND);
    }
  });

  test('less and less often when the indexer cannot say it, down to once a minute', async () => {
    const time = chain.chainTime();
    time.learn(START - DAY);
    chain.behindMs = undefined;
    const askedAt: number[] = [];
    for (; chain.now < START + 4 * MINUTE; chain.now += 500) {
      const before = chain.asks;
      expect(await time.upToDate()).toBe(START - DAY);
      if (chain.asks > before) askedAt.push((chain.now - START) / SECOND);
    }
    expect(askedAt).toEqual([0, 10, 30, 70, 130, 190]);
    chain.behindMs = 0;
    for (const until = chain.now + 75 * SECOND; chain.now < until; chain.now += 500) await time.upToDate();
    chain.behindMs = undefined;
    chain.asks = 0;
    for (const until = chain.now + 25 * SECOND; chain.now < until; chain.now += 500) await time.upToDate();
    expect(chain.asks).toBe(2);
  });

  test('again when our clock was set back', async () => {
    const time = chain.chainTime();
    await time.upToDate();
    chain.now -= DAY;
    await time.upToDate();
    expect(chain.asks).toBe(2);
  });

  test('and waited for no longer than a second; a later answer is used then', async () => {
    vi.useFakeTimers();
    try {
      const { promise, resolve } = Promise.withResolvers<number>();
      const time = chain.chainTime(undefined, () => promise);
      time.learn(START - DAY);
      const waiting = time.upToDate();
      await vi.advanceTimersByTimeAsync(999);
      const settled = vi.fn();
      void Promise.resolve(waiting).then(settled);
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
