import type { Chain } from '../simulator/chain.ts';
import { pastAnswers } from '../simulator/past-answers.ts';
import { CANONICAL, type ClientAnswer, requestOf } from './client.ts';
import { differenceFrom } from './difference.ts';

/**
 * How long an answer may be given after it ceased to be true, ms: a list of children, 20 s old at most when the last one
 * comes, is fresh for 2 s, served for another 2 s while it is refreshed, and a load takes followers for 1 s. `npm run
 * truth` holds each class of answers to its own windows.
 */
const MAY_AGE_MS = 5000;

/**
 * Says what is wrong with an answer, or nothing when it is right: it has to be what the indexer said at some instant
 * between the asking and the receiving, or a few seconds and `graceMs` before. There is no excuse for a status but 200
 * and 404: the demo's indexer never fails.
 */
export function checkAnswer(answer: ClientAnswer, chain: Chain, graceMs: number): string | undefined {
  const { call, status, text, sentAt, receivedAt } = answer;
  if (status !== 200 && status !== 404) return 'only 200 and 404 can be right';
  const past = pastAnswers(requestOf(call, CANONICAL), chain, '1.3').filter(({ fromAt }) => fromAt <= receivedAt);
  const allowedMs = MAY_AGE_MS + graceMs;
  const isSaid = past.findLast(({ said }) => {
    const { status: saidStatus, body } = said();
    return saidStatus === status && body === text;
  });
  const agedMs = isSaid === undefined ? undefined : sentAt - isSaid.untilAt;
  if (agedMs !== undefined && agedMs <= allowedMs) return undefined;
  const current = past.at(-1)?.said();
  const expected = differenceFrom({ status: current?.status ?? 404, text: String(current?.body) }, answer);
  if (agedMs === undefined) return `the chain never says this; ${expected}`;
  return `true until ${Math.ceil(agedMs)} ms before it was asked for, ${Math.floor(allowedMs)} ms are allowed; ${expected}`;
}
