import { truthsOf } from '../../../src/demo/ground-truth.ts';
import type { Chain } from '../../../src/simulator/chain.ts';
import { keyOf, type Verdict } from './judge.ts';

/** A change counts only if a client asked within this time before it: without polling nobody could see it at once. */
const POLLED_WITHIN_MS = 2000;

/**
 * For each change of something that clients were polling: the time from the change to the first answer that shows it or a
 * later one, ms. The chain must have been advanced to the last answer.
 */
export function sightsOf(verdicts: readonly Verdict[], chain: Chain, about: 'message' | 'block'): number[] {
  const asked = verdicts.filter(({ answer }) => answer.call.about === about);
  return [...Map.groupBy(asked, ({ answer }) => keyOf(answer.call)).values()].flatMap((same) => {
    const call = same[0]?.answer.call;
    const changes = call === undefined ? [] : truthsOf(call, chain).map(({ fromAt }) => fromAt);
    return changes.flatMap((changedAt) => {
      const wasPolled = same.some(
        ({ answer: { sentAt } }) => sentAt < changedAt && sentAt >= changedAt - POLLED_WITHIN_MS,
      );
      const seenAt = same
        .filter(({ trueFrom }) => trueFrom !== undefined && trueFrom >= changedAt)
        .map(({ answer }) => answer.receivedAt);
      return wasPolled && seenAt.length > 0 ? [Math.min(...seenAt) - changedAt] : [];
    });
  });
}
