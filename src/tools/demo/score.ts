import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isDeepStrictEqual } from 'node:util';
import type { OperationName } from '../../ton/operation-names.ts';
import type { Chain } from '../simulator/chain.ts';
import type { Indexer } from '../simulator/indexer.ts';
import { operationOf } from '../simulator/operations.ts';
import { pastAnswers } from '../simulator/past-answers.ts';
import { isHit } from '../verify/cache-headers.ts';
import { CANONICAL, type ClientAnswer, type HeardAnswer, targetOf } from './client.ts';
import { differenceFrom } from './difference.ts';
import type { CrowdCounts, Screen } from './screen.ts';

/**
 * The longest time after the end of its truth for which an answer may be served, ms: a list of children, at most 20 s
 * old when the last child comes, is fresh for 2 s, served for another 2 s while it is refreshed, and its load takes
 * followers for 1 s. `npm run truth` checks each class of answers by its own windows.
 */
const MAY_AGE_MS = 5000;

const MOST_SHOWN = 10;

/** Checks and counts every client's answer, and shows the first wrong ones. */
export class Score {
  wrong = 0;
  readonly #indexer: Indexer;
  readonly #screen: Screen;
  readonly #stalls = monitorEventLoopDelay();
  readonly #answers = new Map<string, number>();
  readonly #hits = new Map<string, number>();

  constructor(indexer: Indexer, screen: Screen) {
    this.#indexer = indexer;
    this.#screen = screen;
    this.#stalls.enable();
  }

  /** The counts of some operations since earlier counts. */
  counts(operations: readonly OperationName[], since: CrowdCounts = { answers: 0, hits: 0, upstream: 0 }): CrowdCounts {
    const sum = (countOf: (operation: OperationName) => number) =>
      operations.reduce((counted, operation) => counted + countOf(operation), 0);
    return {
      answers: sum((operation) => this.#answers.get(operation) ?? 0) - since.answers,
      hits: sum((operation) => this.#hits.get(operation) ?? 0) - since.hits,
      upstream: sum((operation) => this.#indexer.requests.count(operation)) - since.upstream,
    };
  }

  /** Takes an answer; returns false if it was wrong. */
  readonly add = (answer: HeardAnswer): boolean => {
    const operation = operationOf(targetOf(answer.call, CANONICAL));
    count(this.#answers, operation);
    if (isHit(answer.cacheStatus)) count(this.#hits, operation);
    // If this process stood still (Ctrl-Z, a machine without time), earlier answers arrive afterwards.
    const reason = whyWrong(answer, this.#indexer.chain, MAY_AGE_MS + this.#stalls.max / 1e6);
    if (reason === undefined) return true;
    if (++this.wrong <= MOST_SHOWN) this.#screen.wrong(answer, reason);
    return false;
  };
}

function count(counts: Map<string, number>, operation: string): void {
  counts.set(operation, (counts.get(operation) ?? 0) + 1);
}

/**
 * Why an answer is not one that the indexer gave at some instant from `allowedMs` before the request to its receipt.
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
  if (state === undefined) return `the chain never had this response; ${difference}`;
  return `true until ${Math.ceil(agedMs)} ms before it was asked for, ${Math.floor(allowedMs)} ms are allowed; ${difference}`;
}
