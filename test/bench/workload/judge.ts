import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { type Call, nameOf } from '../../truth/call.ts';
import type { ClientAnswer } from '../../truth/check-answer.ts';
import { type State, States } from '../../truth/states.ts';
import { windowOf } from '../../truth/windows.ts';

/** The result of a request; its status is 0 without an answer. */
export type HeardAnswer = Omit<ClientAnswer, 'cacheStatus' | 'age'>;

/** One answer, compared with the chain. */
export interface Verdict {
  readonly answer: HeardAnswer;
  /**
   * `right`: true at some instant between request and answer, or no longer before than an answer of its class may be
   * served; `lie`: any other 200 or 404; `failed`: every other status, and no answer.
   */
  readonly kind: 'right' | 'lie' | 'failed';
  /** How long before the request the answer had ceased to be true, ms; 0 if it had not, and for failures. */
  readonly staleMs: number;
  /** When the answer became true, epoch ms; undefined if it never did, and for failures. */
  readonly trueFrom?: number;
}

/** Added to every window: a request that joins a load gets an answer from when the load began. */
const FLIGHT_MS = 1000;
/** The chain is advanced in steps of this length, because only the newest traces of an account are searched. */
const WINDOW_MS = 5000;
/**
 * A change counts only if a client sent a request within this time before it: without polling no client could see it at
 * once.
 */
const POLLED_WITHIN_MS = 2000;

/**
 * Judges the answers of any server by toncache's lifetimes. The chain must not be ahead of the first answer; it is
 * advanced to the last one.
 */
export function judge(answers: readonly HeardAnswer[], chain: Chain): Verdict[] {
  const windows = Map.groupBy(answers, ({ receivedAt }) => Math.floor(receivedAt / WINDOW_MS));
  return [...windows]
    .sort(([a], [b]) => a - b)
    .flatMap(([number, inWindow]) => {
      chain.advanceTo((number + 1) * WINDOW_MS);
      const states = new States(chain, '1.3');
      return [...Map.groupBy(inWindow, ({ call }) => nameOf(call)).values()].flatMap((same) => {
        const call = same[0]?.call;
        const known = call === undefined ? [] : states.of(call);
        return same.map((answer) => verdictOn(answer, known));
      });
    });
}

function verdictOn(answer: HeardAnswer, states: readonly State[]): Verdict {
  const { call, status, sentAt, receivedAt, text } = answer;
  if (status !== 200 && status !== 404) return { answer, kind: 'failed', staleMs: 0 };
  const state = states.findLast(({ fromAt, said }) => {
    return fromAt <= receivedAt && said().status === status && said().text === text;
  });
  if (state === undefined) return { answer, kind: 'lie', staleMs: 0 };
  const staleMs = Math.max(0, sentAt - state.untilAt);
  const { lifetime, staleWhileRevalidate } = windowOf(call, answer, state.untilAt);
  const mayAgeMs = lifetime + Math.min(lifetime, staleWhileRevalidate);
  return { answer, kind: staleMs <= mayAgeMs + FLIGHT_MS ? 'right' : 'lie', staleMs, trueFrom: state.fromAt };
}

/**
 * For each change of an answer that clients were polling: the time from the change to the first answer that shows it or
 * a later one, ms. The chain must have been advanced to the last answer.
 */
export function changesSeen(verdicts: readonly Verdict[], chain: Chain, operation: Call['operation']): number[] {
  const states = new States(chain, '1.3');
  const asked = verdicts.filter(
    ({ answer }) => answer.call.operation === operation && answer.call.accounts === undefined,
  );
  return [...Map.groupBy(asked, ({ answer }) => nameOf(answer.call)).values()].flatMap((same) => {
    const call = same[0]?.answer.call;
    const changes = call === undefined ? [] : states.of(call).map(({ fromAt }) => fromAt);
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
