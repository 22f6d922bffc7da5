import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { isGoodStatus } from '../outcomes.ts';
import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import type { ConditionName } from './conditions.ts';
import { askedOf, FEWEST, hitsOf, NOW_MS, type Span } from './counted.ts';
import type { CountedConditionsDependencies } from './counted-conditions.ts';
import type { IndexerErrors } from './indexer-errors.ts';
import { Limits } from './limits.ts';
import { NoAnswer, OF_INDEXER } from './no-answer.ts';
import { PassedFailures } from './passed-failures.ts';
import { percent } from './percent.ts';

/** Answers that take longer than this are slow, or than half of `UPSTREAM_TIMEOUT`. */
export const slowMsOf = (timeoutMs: Ms): Ms => Math.min(2000, timeoutMs / 2);

/** This part of slow answers is reported: the p99 is slow. */
const SLOW_PART = 0.01;

/** A larger part of failed requests to an indexer is reported, and of stale answers while the indexer is slow. */
const [FAILING_PART, STALE_PART] = [0.05, 0.05];

/** Below this many requests a second a ratio of hits is meaningless; a ratio below this is low. */
const [FEWEST_PER_SECOND, LOW_RATIO] = [1, 0.5];

/** A client with more than this part of the backlog (if it is at least this long), or of the requests, is the cause. */
const [GREEDY_PART, FEWEST_WAITING] = [0.5, 10];

/** Why a backup is in use. */
const OF_OTHERS: readonly ConditionName[] = [
  ...OF_INDEXER,
  'paused',
  'behind',
  'lacks-block',
  'other-chain',
  'not-served',
];

/** The present use of the indexers by clients. */
export interface Crowd {
  /** Requests in the backlog, their clients, and the share of the client with most of them, 0 to 1. */
  readonly waiting: number;
  readonly waitingClients: number;
  readonly waitingShare: number;
  /** The share of the busiest of several clients in the requests that memory does not answer, 0 to 1. */
  readonly askingShare: number;
}

export interface ServedDependencies extends CountedConditionsDependencies {
  readonly errors: Pick<IndexerErrors, 'last'>;
  readonly crowd: () => Crowd;
  /** See {@link slowMsOf}. */
  readonly slowMs: Ms;
}

/**
 * The conditions that follow from how clients were served in the last minutes: no answer, slow answers, limits, a failing
 * indexer, a backup in use, a small memory.
 */
export class Served {
  readonly #dependencies: ServedDependencies;
  readonly #noAnswer: NoAnswer;
  readonly #passed: PassedFailures;
  readonly #limits: Limits;
  /** By indexer, when it last answered a request for an operation that was not a head poll. */
  readonly #usedAt = new Map<string, MonotonicMs>();

  constructor(dependencies: ServedDependencies) {
    this.#dependencies = dependencies;
    this.#noAnswer = new NoAnswer(dependencies);
    this.#passed = new PassedFailures(dependencies);
    this.#limits = new Limits(dependencies);
    const { events, conditions, now } = dependencies;
    events.on('upstream-answered', ({ indexer, operation, status, isForHead }) => {
      const isUse = isForHead !== true && operation !== 'passthrough' && isGoodStatus(status);
      if (isUse) this.#usedAt.set(indexer, now());
    });
    events.on('load-refused', ({ reason }) => {
      const { condition } = REFUSED[reason];
      if (condition === 'overloaded') this.#overloaded(sentenceOf(REFUSED[reason]));
      if (condition === 'process-memory') conditions.set(condition);
    });
  }

  /** Sets and clears the conditions. Call about once a second. */
  tell(): void {
    const { counted } = this.#dependencies;
    counted.turn();
    const lately = counted.within(NOW_MS);
    this.#noAnswer.tell();
    this.#passed.tell();
    this.#limits.tell(lately);
    this.#tellSlow(lately);
    this.#tellIndexers(lately);
    this.#tellMemory(lately);
    this.#tellCrowd();
  }

  #overloaded(says: string): void {
    const { conditions, crowd } = this.#dependencies;
    // The backlog does not show it: at a full indexer the backlog is short.
    const { askingShare: share } = crowd();
    const asking = `one client sends ${percent(share, 1)} of the misses`;
    conditions.set('overloaded', {}, share > GREEDY_PART ? asking : says);
  }

  /** One in a hundred clients waits long, and not just one or two of few; or the refreshes of stale answers do. */
  #tellSlow(lately: Span): void {
    const { conditions, slowMs } = this.#dependencies;
    const { cached } = lately;
    const [asked, { slow, sent, slowSent, stale }] = [askedOf(cached), cached];
    const areSlow = slow > Math.max(SLOW_PART * asked, FEWEST - 1);
    const isIndexerSlow = slowSent > SLOW_PART * sent;
    const areStale = stale > STALE_PART * asked;
    const used = [...lately.operations].filter(([, its]) => its.sent > 0 && askedOf(its) > 0);
    const names = used.filter(([, its]) => its.slowSent > SLOW_PART * its.sent).map(([name]) => name);
    const some = names.length > 0 && names.length < used.length ? ` (${names.join(', ')})` : '';
    const limit = duration(slowMs);
    const why = isIndexerSlow
      ? `the indexer takes over ${limit} for ${percent(slowSent, sent)} of requests`
      : 'requests wait for a slot at the indexer';
    const effect = `responses are ${areSlow ? 'slow' : 'stale'}${some}`;
    const isTrue = sent >= FEWEST && (areSlow || (areStale && isIndexerSlow));
    conditions.turn(isTrue, 'slow', {}, why, { effect });
  }

  #tellIndexers(lately: Span): void {
    const { conditions, errors, indexers, now } = this.#dependencies;
    for (const { name: upstream, isBackup } of indexers) {
      const { sent, bad, good } = lately.upstream(upstream);
      if (bad >= FEWEST && bad > FAILING_PART * sent)
        conditions.set('indexer-fails', { upstream }, errors.last(upstream));
      // While it is unhealthy it has no good answer.
      else if (good > 0) conditions.clear('indexer-fails', { upstream });
      const isUsed = now() - (this.#usedAt.get(upstream) ?? Number.NEGATIVE_INFINITY) < NOW_MS;
      if (isBackup) conditions.turn(isUsed, 'backup-in-use', { upstream }, this.#whyOthers());
    }
  }

  #whyOthers(): string {
    const { conditions, indexers } = this.#dependencies;
    const others = indexers.filter(({ isBackup }) => !isBackup);
    const said = others.flatMap(({ name }) => {
      const rows = conditions.active.filter((it) => it.upstream === name && OF_OTHERS.includes(it.name));
      return rows.slice(0, 1).map(({ says }) => says);
    });
    return said.length === 0 ? 'all other slots are in use' : [...new Set(said)].join(', ');
  }

  /** Memory evicts fresh entries, and most answers are not in it. */
  #tellMemory(lately: Span): void {
    const seconds = NOW_MS / 1000;
    const { cached } = lately;
    const [asked, hits] = [askedOf(cached), hitsOf(cached)];
    const { evicted } = lately.once;
    const isSmall = asked > FEWEST_PER_SECOND * seconds && hits < LOW_RATIO * asked && evicted > (asked - hits) / 2;
    const words = `it evicts ${(evicted / seconds).toFixed(1)} fresh entries a second, and hits are ${percent(hits, asked)}`;
    this.#dependencies.conditions.turn(isSmall, 'memory-small', {}, words);
  }

  /** The condition does not name the client: the table of clients does, for those who may purge. */
  #tellCrowd(): void {
    const { conditions, crowd } = this.#dependencies;
    const { waiting, waitingClients, waitingShare } = crowd();
    const isGreedy = waitingShare > GREEDY_PART && waitingClients > 1 && waiting >= FEWEST_WAITING;
    conditions.turn(isGreedy, 'one-client', {}, `one client has ${percent(waitingShare, 1)} of the backlog`);
  }
}
