import { expect, test } from 'vitest';
import { KnownChain } from '../../../src/fleet/known-chain.ts';

const SEQNO = 62_000_000;

test('a head in Redis shows for a minute that the chain has reached its block, and earlier ones', () => {
  let now = 1_800_000_000_000;
  const chain = new KnownChain([{ hasReached: (block) => block <= SEQNO }], () => now);
  chain.learn(SEQNO + 3);
  chain.learn(5);
  expect([SEQNO + 2, SEQNO + 3, SEQNO + 4].map((seqno) => chain.hasReached(seqno))).toEqual([true, true, false]);
  now += 60_000;
  expect(chain.hasReached(SEQNO + 3)).toBe(true);
  now += 1;
  expect([chain.hasReached(SEQNO + 3), chain.hasReached(SEQNO)]).toEqual([false, true]);
  chain.learn(SEQNO + 1);
  expect([SEQNO + 1, SEQNO + 2].map((seqno) => chain.hasReached(seqno))).toEqual([true, false]);
  chain.forget();
  expect(chain.hasReached(SEQNO + 1)).toBe(false);
});
