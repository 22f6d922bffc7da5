import type { ClientCall } from '../../../src/demo/client-call.ts';
import { truthsOf } from '../../../src/demo/ground-truth.ts';
import type { Chain } from '../../../src/simulator/chain.ts';
import { keyOf, type Verdict } from './judge.ts';

/** A change counts where somebody had asked for it within so long before: nobody else could have seen it at once. */
const POLLED_WITHIN_MS = 2000;

/**
 * For every change of something that clients polled when it changed: how long it took until the first of them had an
 * answer from after it, ms. The chain must have been advanced to the last answer; no call may be about an account, for
 * its truths are known for half a minute only.
 */
export function sightsOf(verdicts: readonly Verdict[], chain: Chain, about: ClientCall['about']): number[] {
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
