import { describe, expect, test } from 'vitest';
import { FollowedChain } from '../../../src/chain/followed-chain.ts';
import { HeadJudge } from '../../../src/chain/head-judge.ts';
import { KnownChain } from '../../../src/chain/known-chain.ts';
import type { ChainHead } from '../../../src/ton/chain-point.ts';

const START = 1_800_000_000_000;
const SEQNO = 62_000_000;

/** The known chain of an instance with indexers at these heads; `undefined`: an indexer that has named no head. */
function knowing(...seqnos: (number | undefined)[]) {
  const clock = { now: START };
  const now = () => clock.now;
  const followed = new FollowedChain(-239);
  const head = (seqno: number, more: Partial<ChainHead> = {}): ChainHead => {
    return { seqno, at: clock.now, first: 0, globalId: -239, ...more };
  };
  const heads = seqnos.map((seqno) => {
    const judge = new HeadJudge({ isOurChain: followed.isOurs, now });
    if (seqno !== undefined) judge.refusalOf(head(seqno));
    return {
      hasReached: (block: number) => seqno !== undefined && block <= seqno,
      get acceptedSeqno() {
        return judge.seqno;
      },
      canBeAt: judge.canBeAt.bind(judge),
    };
  });
  return { chain: new KnownChain({ heads, chain: followed, now }), clock, head };
}

describe('an entry of another instance', () => {
  test('shows for a minute that the chain has reached its block, and earlier ones', () => {
    const { chain, clock } = knowing(SEQNO);
    chain.learn({ at: 0, seqno: SEQNO + 3 });
    chain.learn({ at: 0, seqno: 5 });
    expect([SEQNO + 2, SEQNO + 3, SEQNO + 4].map((seqno) => chain.hasReached(seqno))).toEqual([true, true, false]);
    clock.now += 60_000;
    expect(chain.hasReached(SEQNO + 3)).toBe(true);
    clock.now += 1;
    expect([chain.hasReached(SEQNO + 3), chain.hasReached(SEQNO)]).toEqual([false, true]);
    chain.learn({ at: 0, seqno: SEQNO + 1 });
    expect([SEQNO + 1, SEQNO + 2].map((seqno) => chain.hasReached(seqno))).toEqual([true, false]);
    chain.forget();
    expect(chain.hasReached(SEQNO + 1)).toBe(false);
  });

  test.each([
    ['the chain can have reached may be served', SEQNO + 500, {}, true],
    ['the chain cannot have reached may not be served', 9e8, {}, false],
    ['is of another chain may not be served', SEQNO, { globalId: -3 }, false],
    ['has no global_id may be served', SEQNO, { globalId: undefined }, true],
    ['is older may be served', 5, {}, true],
  ])('whose head %s, judged by the newest head of all indexers', (_, seqno, more, isAccepted) => {
    const { chain, head } = knowing(undefined, 5, SEQNO);
    expect(chain.accepts(head(seqno, more))).toBe(isAccepted);
  });

  test('is not learned if the chain cannot have reached its block', () => {
    const { chain } = knowing(SEQNO);
    chain.learn({ at: START, seqno: 9e8 });
    expect(chain.hasReached(SEQNO + 1)).toBe(false);
  });

  test('may be served, but is not learned, while no indexer has named a head', () => {
    const { chain, head } = knowing(undefined);
    expect(chain.accepts(head(9e8, { globalId: -3 }))).toBe(true);
    chain.learn(head(SEQNO));
    expect(chain.hasReached(1)).toBe(false);
  });
});
