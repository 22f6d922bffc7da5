import { beforeEach, describe, expect, test } from 'vitest';
import type { GivenChainTime, MergedChainTime, SharedChainTime } from '../../../src/proxy/shared-chain-time.ts';
import { DAY, HOUR, MINUTE, ScriptedChain, SECOND } from '../../support/scripted-chain.ts';

const { START } = ScriptedChain;

let chain: ScriptedChain;

beforeEach(() => {
  chain = new ScriptedChain();
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
    const time = chain.chainTime(shared);
    expect(await time.upToDate()).toBe(START - HOUR);
    expect(chain.asks).toBe(0);
  });

  test('only one at a time asks, and the others look for its answer a second later', async () => {
    merged = { newestAt: START - DAY, shownAt: START - HOUR, headSeenAt: START - HOUR, mayAsk: false };
    const time = chain.chainTime(shared);
    expect(await time.upToDate()).toBe(START - DAY);
    await time.upToDate();
    expect(given).toHaveLength(1);
    chain.now += SECOND;
    merged = { newestAt: START, shownAt: START + 200, headSeenAt: START + 200, mayAsk: false };
    expect(await time.upToDate()).toBe(START);
    expect(chain.asks).toBe(0);
  });

  test('the answer is shared with the others', async () => {
    merged = { newestAt: 0, shownAt: 0, headSeenAt: 0, mayAsk: true };
    chain.behindMs = MINUTE;
    await chain.chainTime(shared).upToDate();
    expect(chain.asks).toBe(1);
    expect(given).toMatchObject([
      { newestAt: 0, shownAt: 0, headSeenAt: 0, askEveryMs: 10 * SECOND },
      { newestAt: START - MINUTE, shownAt: START, headSeenAt: START, askEveryMs: 0 },
    ]);
  });

  test('times in answers are shared with the others, at most once in 10 s', async () => {
    merged = { newestAt: 0, shownAt: 0, headSeenAt: 0, mayAsk: true };
    const time = chain.chainTime(shared);
    await time.upToDate();
    given = [];
    for (; chain.now < START + 35 * SECOND; chain.now += 400) time.learn(chain.now);
    expect(given).toHaveLength(3);
    expect(given.every(({ askEveryMs }) => askEveryMs === 0)).toBe(true);
  });

  test('each asks by itself without Redis', async () => {
    const time = chain.chainTime(shared);
    expect(await time.upToDate()).toBe(START);
    expect(chain.asks).toBe(1);
  });

  test('a clock that is ahead of ours does no harm', async () => {
    const aheadAt = START + 30 * SECOND;
    merged = { newestAt: START, shownAt: aheadAt, headSeenAt: aheadAt, mayAsk: false };
    const time = chain.chainTime(shared);
    expect(await time.upToDate()).toBe(START);
    chain.now += MINUTE + 1;
    expect(time.newestAt).toBeUndefined();
  });

  test('an answer that comes while Redis is asked is not forgotten', async () => {
    merged = { newestAt: START - HOUR, shownAt: START, headSeenAt: START, mayAsk: false };
    const time = chain.chainTime(shared);
    const updated = time.upToDate();
    time.learn(START - MINUTE);
    expect(await updated).toBe(START - MINUTE);
  });

  test('nothing is said to be shown in the future after our clock was set back', async () => {
    const time = chain.chainTime(shared);
    await time.upToDate();
    chain.now -= DAY;
    given = [];
    await time.upToDate();
    const instants = given.flatMap(({ shownAt, headSeenAt }) => [shownAt, headSeenAt]);
    expect(instants).toEqual([chain.now, chain.now, chain.now, chain.now]);
  });
});
