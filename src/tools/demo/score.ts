import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isDeepStrictEqual } from 'node:util';
import type { Chain } from '../simulator/chain.ts';
import { pastAnswers } from '../simulator/past-answers.ts';
import { isHit } from '../verify/cache-headers.ts';
import { CANONICAL, type ClientAnswer, type HeardAnswer, targetOf } from './client.ts';
import { differenceFrom } from './difference.ts';

/**
 * How long an answer may be given after it ceased to be true, ms: a list of children, 20 s old at most when the last one
 * comes, is fresh for 2 s, served for another 2 s while it is refreshed, and a load takes followers for 1 s. `npm run
 * truth` holds each class of answers to its own windows.
 */
const MAY_AGE_MS = 5000;

/** Checks and counts every answer that a client gets. */
export class Score {
  answers = 0;
  /** Answers that the proxy gave without going forward, by its own word. */
  hits = 0;
  wrong = 0;
  readonly #chain: () => Chain;
  readonly #onWrong: (answer: HeardAnswer, reason: string) => void;
  readonly #stalls = monitorEventLoopDelay();

  /**
   * @param chain The chain, advanced to the present.
   * @param onWrong Called with each wrong answer, and why it is wrong.
   */
  constructor(chain: () => Chain, onWrong: (answer: HeardAnswer, reason: string) => void) {
    this.#chain = chain;
    this.#onWrong = onWrong;
    this.#stalls.enable();
  }

  /** Takes an answer in; false when it was wrong. */
  readonly add = (answer: HeardAnswer): boolean => {
    this.answers++;
    if (isHit(answer.cacheStatus)) this.hits++;
    // When this process stood still (Ctrl-Z, a machine with no time), answers of before it arrive late.
    const reason = whyWrong(answer, this.#chain(), MAY_AGE_MS + this.#stalls.max / 1e6);
    if (reason === undefined) return true;
    this.wrong++;
    this.#onWrong(answer, reason);
    return false;
  };
}

/**
 * An answer has to be what the indexer said at some instant between the asking and the receiving, or so long before. There
 * is no excuse for a status but 200 and 404: the demo's indexer never fails.
 */
function whyWrong(answer: ClientAnswer, chain: Chain, allowedMs: number): string | undefined {
  const { call, status, text, sentAt, receivedAt } = answer;
  if (status !== 200 && status !== 404) return 'only 200 and 404 can be right';
  const asked = { method: 'GET', target: targetOf(call, CANONICAL), headers: {} };
  const past = pastAnswers(asked, chain, '1.3').filter(({ fromAt }) => fromAt <= receivedAt);
  const state = past.findLast(({ said }) => isDeepStrictEqual(said(), { status, text }));
  const agedMs = sentAt - (state?.untilAt ?? Number.NEGATIVE_INFINITY);
  if (agedMs <= allowedMs) return undefined;
  const [current] = past.slice(-1);
  const difference = current === undefined ? '' : differenceFrom(current.said(), answer);
  if (state === undefined) return `the chain never says this; ${difference}`;
  return `true until ${Math.ceil(agedMs)} ms before it was asked for, ${Math.floor(allowedMs)} ms are allowed; ${difference}`;
}
