import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ChainTime } from '../../../src/proxy/chain-time.ts';
import { DAY, HOUR, MINUTE, ScriptedChain, SECOND } from '../../support/scripted-chain.ts';

const { START } = ScriptedChain;

let chain: ScriptedChain;

beforeEach(() => {
  chain = new ScriptedChain();
});

describe('an indexer that is set back', () => {
  /** Known from the head, which goes back by `ms` then. */
  async function setBack(ms: number): Promise<ChainTime> {
    const time = chain.chainTime();
    await time.upToDate();
    chain.behindMs = ms;
    return time;
  }

  test('is believed when it has shown no newer time for 60 s', async () => {
    const time = await setBack(3 * HOUR);
    chain.now = START + MINUTE;
    expect(time.newestAt).toBe(START);
    expect(await time.upToDate()).toBe(START);
    // The head was asked for just now.
    chain.now += 10 * SECOND;
    expect(time.newestAt).toBeUndefined();
    expect(await time.upToDate()).toBe(chain.now - 3 * HOUR);
    expect(time.newestAt).toBe(chain.now - 3 * HOUR);
  });

  test('is followed while it catches up', async () => {
    const time = await setBack(3 * HOUR);
    chain.now += 2 * MINUTE;
    await time.upToDate();
    for (let second = 1; second <= 60; second++) {
      chain.now += SECOND;
      time.learn(START - 3 * HOUR + second * MINUTE);
    }
    expect(time.newestAt).toBe(START - 2 * HOUR);
  });

  test('is asked for its head before any answer counts by the time that it once had', async () => {
    const time = await setBack(12 * HOUR);
    chain.now += MINUTE + 1;
    expect(time.newestAt).toBeUndefined();
    time.learn(START - 12 * HOUR);
    expect(time.newestAt).toBeUndefined();
    await time.upToDate();
    expect(time.newestAt).toBe(chain.now - 12 * HOUR);
  });

  test('is not suspected while answers show the same time or a newer one', async () => {
    const time = await setBack(5 * MINUTE);
    for (let shown = START; chain.now < START + 10 * MINUTE; chain.now += 50 * SECOND) {
      if (chain.now % (150 * SECOND) === 0) shown = chain.now;
      time.learn(shown);
      expect(await time.upToDate()).toBe(shown);
      expect(time.newestAt).toBe(shown);
    }
    // The head was asked for meanwhile, and each time showed an older time.
    expect(chain.asks).toBe(5);
  });

  test('is believed at once after our clock was set forward', async () => {
    const time = await setBack(3 * HOUR + DAY);
    chain.now += DAY;
    expect(await time.upToDate()).toBe(START - 3 * HOUR);
  });

  test('is believed a minute after our clock was set back', async () => {
    const time = await setBack(3 * HOUR);
    chain.now -= HOUR;
    expect(await time.upToDate()).toBe(START);
    chain.now += MINUTE + 1;
    expect(await time.upToDate()).toBe(chain.now - 3 * HOUR);
  });

  test('never leaves a time that was neither shown in the last 60 s nor the head', async () => {
    const seconds = fc.integer({ min: 0, max: 100 });
    const step = fc.record({ passS: seconds, shows: fc.constantFrom('head', 'answer'), agoS: fc.nat(1000) });
    const steps = fc.array(step, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        chain.now = START;
        const time = chain.chainTime();
        const shown: { at: number; chainAt: number }[] = [];
        for (const { passS, shows, agoS } of story) {
          chain.now += passS * SECOND;
          chain.behindMs = agoS * SECOND;
          const chainAt = chain.now - chain.behindMs;
          const before = chain.asks;
          if (shows === 'head') await time.upToDate();
          else time.learn(chainAt);
          const isHead = chain.asks > before;
          if (isHead || shows === 'answer') shown.push({ at: chain.now, chainAt });
          if (!isHead) continue;
          const recent = shown.filter(({ at }) => chain.now - at <= MINUTE).map((one) => one.chainAt);
          expect(time.newestAt).toBeLessThanOrEqual(Math.max(...recent));
          expect(time.newestAt).toBeGreaterThanOrEqual(chainAt);
        }
      }),
    );
  });
});
