import type { ProxyError } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import type { ConditionName, Conditions } from './conditions.ts';
import { askedOf, type Counted, failedOf, hitsOf, type Span } from './counted.ts';
import type { IndexerErrors } from './indexer-errors.ts';
import { LimitedClients } from './limited-clients.ts';

/** If more than this part of the requests gets no answer, it is an outage. */
const BAD_PART = 0.01;

/** Fewer of anything in 10 s than this mean nothing. */
const FEWEST = 3;

/** No answer: the length of each window, and the fewest failures in it that count. */
const [NOW_MS, MINUTE_MS, KEPT_MS]: [Ms, Ms, Ms] = [10_000, 60_000, 300_000];
const WINDOWS: readonly (readonly [Ms, fewest: number])[] = [
  [NOW_MS, FEWEST],
  [MINUTE_MS, 4],
  [KEPT_MS, 20],
];

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

/** The maximum number of limited networks that are named. */
const MOST_NETWORKS = 3;

/** The conditions that explain why an indexer brings no answer, from its last failure to the whole of it. */
const INDEXER: readonly ConditionName[] = ['indexer-error', 'indexer-fails', 'key-refused', 'not-reached'];

/** Why a backup is in use. */
const OF_OTHERS: readonly ConditionName[] = [
  ...INDEXER,
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

export interface ServedDependencies {
  readonly events: EventHub;
  readonly conditions: Conditions;
  readonly errors: Pick<IndexerErrors, 'last'>;
  readonly now: () => MonotonicMs;
  /** All indexers, by host and port. */
  readonly indexers: readonly { readonly name: string; readonly isBackup: boolean }[];
  readonly crowd: () => Crowd;
  readonly counted: Counted;
  /** See {@link slowMsOf}. */
  readonly slowMs: Ms;
}

/** Why requests failed, as each of them said when it failed. */
interface Cause {
  readonly condition: ConditionName;
  readonly upstream: string | undefined;
  readonly operation: string;
  /** In words, if nothing says more. */
  readonly says: string;
  count: number;
}

/** The failures of a span of time, by what they said. */
interface Failures {
  readonly until: MonotonicMs;
  readonly causes: Map<string, Cause>;
}

/**
 * The conditions that follow from how clients were served in the last minutes: no answer, slow answers, limits, a failing
 * indexer, a backup in use, a small memory.
 */
export class Served {
  readonly #dependencies: ServedDependencies;
  readonly #limitedClients: LimitedClients;
  #failures: Failures[] = [];
  #causes = new Map<string, Cause>();
  #limitedSeen = 0;
  #failedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #limitedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ServedDependencies) {
    this.#dependencies = dependencies;
    const { events, conditions, now } = dependencies;
    this.#limitedClients = new LimitedClients(now);
    events.on('client-limited', ({ client }) => this.#limitedClients.count(client));
    events.on('failed', ({ operation, error }) => this.#fail(operation, error));
    events.on('shed', ({ reason }) => {
      const { condition } = REFUSED[reason];
      if (condition === 'overloaded') this.#overloaded(sentenceOf(REFUSED[reason]));
      if (condition === 'process-memory') conditions.set(condition);
    });
  }

  /** Sets and clears the conditions. Call about once a second. */
  tell(): void {
    const { now, counted } = this.#dependencies;
    counted.turn();
    const lately = counted.within(NOW_MS);
    const hasFailed = this.#causes.size > 0;
    if (hasFailed) {
      this.#failedAt = now();
      this.#failures.push({ until: now(), causes: this.#causes });
      this.#causes = new Map();
    }
    this.#failures = this.#failures.filter(({ until }) => now() - until <= KEPT_MS);
    this.#tellNoAnswer(hasFailed);
    this.#tellLimited(lately);
    this.#tellSlow(lately);
    this.#tellIndexers(lately);
    this.#tellMemory(lately);
    this.#tellCrowd();
  }

  #fail(operation: string, error: ProxyError): void {
    if (error.code === 'too-many-requests') return;
    const { condition, says } = error.why;
    const { indexer: upstream } = error.details;
    const key = `${upstream} ${operation} ${says}`;
    const known = this.#causes.get(key);
    if (known === undefined) this.#causes.set(key, { condition, upstream, operation, says, count: 1 });
    else known.count++;
  }

  #overloaded(says: string): void {
    const { conditions, crowd } = this.#dependencies;
    // The backlog does not show it: at a full indexer the backlog is short.
    const { askingShare: share } = crowd();
    const asking = `one client sends ${percent(share, 1)} of the requests that memory does not answer`;
    conditions.set('overloaded', {}, share > GREEDY_PART ? asking : says);
  }

  /**
   * A request without an answer sets it; it ends a minute after the last one. Without any answer at all it is also set if
   * no indexer can be used.
   */
  #tellNoAnswer(hasFailed: boolean): void {
    const { conditions } = this.#dependencies;
    const { counted } = this.#dependencies;
    const bad = WINDOWS.find(([ms, fewest]) => {
      const { asked, failed } = counted.sums(ms);
      return failed >= fewest && failed > BAD_PART * asked;
    });
    const minute = counted.sums(MINUTE_MS);
    const nobody = minute.asked === minute.failed ? this.#unusable() : undefined;
    if (bad !== undefined && hasFailed) {
      const { says, because } = this.#causeIn(bad[0]);
      conditions.set('no-answer', {}, `${this.#shareIn(bad[0])}: ${says}`, { because });
    } else if (bad === undefined && nobody !== undefined) {
      const { says, name } = nobody;
      conditions.set('no-answer', {}, `no request can be answered: ${says}`, { because: name });
    } else {
      if (minute.failed > 0)
        conditions.say('no-answer', {}, `${this.#shareIn(MINUTE_MS)}: ${this.#causeIn(MINUTE_MS).says}`);
      conditions.clear('no-answer');
    }
  }

  /** What each indexer lacks, that of the first one; `undefined` while one of them may answer. */
  #unusable() {
    const { conditions, indexers } = this.#dependencies;
    const each = indexers.map(({ name }) => conditions.named(['key-refused', 'not-reached'], name).at(-1));
    return each.every((it) => it !== undefined) ? each[0] : undefined;
  }

  /** `12 % of requests get no answer (pendingTraces)`. */
  #shareIn(ms: Ms): string {
    const { counted } = this.#dependencies;
    const { asked, failed } = counted.sums(ms);
    const part = percent(failed, asked);
    const some = operationsOf(counted.within(Math.min(ms, MINUTE_MS)));
    const quietMs = this.#dependencies.now() - this.#failedAt;
    const none = quietMs < 1000 ? '' : `, none for ${duration(1000 * Math.round(quietMs / 1000))}`;
    return ms === NOW_MS
      ? `${part} of requests get no answer${some}`
      : `${part} of the requests of the last ${duration(ms)} got no answer${some}${none}`;
  }

  /** What refused or failed most of the requests, in the words of the present condition if there is one. */
  #causeIn(ms: Ms): { readonly says: string; readonly because: ConditionName | undefined } {
    const { conditions, now } = this.#dependencies;
    const failures = this.#failures.filter(({ until }) => now() - until <= ms);
    const all = failures.flatMap(({ causes }) => [...causes.values()]);
    const sums = new Map<ConditionName, number>();
    for (const { condition, count } of all) sums.set(condition, (sums.get(condition) ?? 0) + count);
    const [[because] = []] = [...sums].sort(([, a], [, b]) => b - a);
    const most = all.filter(({ condition }) => condition === because).at(-1);
    if (most === undefined || because === undefined) return { says: 'requests fail', because: undefined };
    const names = because === 'breaker-open' ? [...INDEXER, because] : INDEXER.includes(because) ? INDEXER : [because];
    const rows = conditions
      .named(names)
      .filter(({ operation }) => operation === undefined || operation === most.operation)
      .filter(({ upstream }) => most.upstream === undefined || because === 'breaker-open' || upstream === most.upstream)
      .sort((a, b) => names.indexOf(b.name) - names.indexOf(a.name));
    const [first] = rows;
    const said = new Set(rows.filter(({ name }) => name === first?.name).map(({ says }) => says));
    return { says: said.size === 0 ? most.says : [...said].join(', '), because: first?.name ?? because };
  }

  #tellLimited(lately: Span): void {
    const { conditions, counted, now } = this.#dependencies;
    const limited = limitedIn(lately);
    const { asked } = lately.sums;
    const isMost = limited >= FEWEST && limited > asked;
    const isNew = counted.totals.limited > this.#limitedSeen;
    this.#limitedSeen = counted.totals.limited;
    if (isNew) this.#limitedAt = now();
    const share = (of: Span) => percent(limitedIn(of) + of.sums.failed, limitedIn(of) + of.sums.asked);
    const who = this.#whoIsLimited();
    if (isMost && isNew) conditions.set('limited-most', {}, `${share(lately)} of requests are limited: ${who}`);
    else if (this.#limitedSeen > 0) {
      const minute = counted.within(MINUTE_MS);
      const quiet = duration(1000 * Math.round((now() - this.#limitedAt) / 1000));
      const words = `${share(minute)} of the requests of the last minute were limited, none for ${quiet}: ${who}`;
      if (limitedIn(minute) > 0) conditions.say('limited-most', {}, words);
      conditions.clear('limited-most');
    }
    conditions.turn(limited >= FEWEST && !isMost, 'client-limited', {}, who);
  }

  /** `10.0.7.0/24 exceeds its limit`. */
  #whoIsLimited(): string {
    const limited = this.#limitedClients.names();
    const [first, ...others] = limited;
    if (first === undefined) return sentenceOf(FAILURES['too-many-requests']);
    if (others.length === 0) return `${first} exceeds its limit`;
    const shown = limited.slice(0, MOST_NETWORKS);
    const rest = limited.length - shown.length;
    const names =
      rest === 0 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : `${shown.join(', ')} and ${rest} more`;
    return `${names} exceed their limits`;
  }

  /** One in a hundred clients waits long, and not just one or two of few; or the refreshes of stale answers do. */
  #tellSlow(lately: Span): void {
    const { conditions, slowMs } = this.#dependencies;
    const { all } = lately;
    const [asked, { slow, sent, slowSent, stale }] = [askedOf(all), all];
    const areSlow = slow > Math.max(SLOW_PART * asked, FEWEST - 1);
    const isIndexerSlow = slowSent > SLOW_PART * sent;
    const areStale = stale > STALE_PART * asked;
    const used = [...lately.operations].filter(([, its]) => its.sent > 0 && askedOf(its) > 0);
    const names = used.filter(([, its]) => its.slowSent > SLOW_PART * its.sent).map(([name]) => name);
    const some = names.length > 0 && names.length < used.length ? ` (${names.join(', ')})` : '';
    const limit = duration(slowMs);
    const why = isIndexerSlow
      ? `the indexer is slow (${percent(slowSent, sent)} of its answers take more than ${limit})`
      : 'requests wait for a slot at the indexer';
    const what = areSlow ? 'slow answers' : 'stale answers';
    const isTrue = sent >= FEWEST && (areSlow || (areStale && isIndexerSlow));
    conditions.turn(isTrue, 'slow', {}, `${what}${some}: ${why}`);
  }

  #tellIndexers(lately: Span): void {
    const { conditions, errors, indexers } = this.#dependencies;
    for (const { name: upstream, isBackup } of indexers) {
      const { sent, bad, good } = lately.upstream(upstream);
      if (bad >= FEWEST && bad > FAILING_PART * sent)
        conditions.set('indexer-fails', { upstream }, errors.last(upstream));
      // While it is unhealthy it has no good answer.
      else if (good > 0) conditions.clear('indexer-fails', { upstream });
      if (isBackup) conditions.turn(good > 0, 'backup-in-use', { upstream }, this.#whyOthers());
    }
  }

  #whyOthers(): string {
    const { conditions, indexers } = this.#dependencies;
    const others = indexers.filter(({ isBackup }) => !isBackup);
    const said = others.flatMap(({ name }) => {
      const rows = conditions.active.filter((it) => it.upstream === name && OF_OTHERS.includes(it.name));
      return rows.slice(0, 1).map(({ says }) => says);
    });
    return said.length === 0 ? 'all slots of the others are in use' : [...new Set(said)].join(', ');
  }

  /** Memory evicts fresh entries, and most answers are not in it. */
  #tellMemory(lately: Span): void {
    const seconds = NOW_MS / 1000;
    const [asked, hits] = [askedOf(lately.all), hitsOf(lately.all)];
    const { evicted } = lately.once;
    const isSmall = asked > FEWEST_PER_SECOND * seconds && hits < LOW_RATIO * asked && evicted > (asked - hits) / 2;
    const words = `it evicts ${(evicted / seconds).toFixed(1)} fresh answers a second, and hits are ${percent(hits, asked)}`;
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

const percent = (part: number, all: number) => `${Math.max(1, Math.round((100 * part) / Math.max(1, all)))} %`;

/**
 * ` (pendingTraces)` if requests for only some of the operations in use get no answer, and not by chance: the others had
 * enough requests that some of these would have failed as well.
 */
function operationsOf(span: Span): string {
  const { asked, failed } = span.sums;
  const failing = [...span.operations].filter(([, its]) => failedOf(its) > 0);
  const others = asked - failing.reduce((sum, [, its]) => sum + askedOf(its), 0);
  return (failed / asked) * others >= FEWEST ? ` (${failing.map(([name]) => name).join(', ')})` : '';
}

/** The requests above the limit of their client, before and after their operation was read. */
const limitedIn = ({ once, all }: Span): number => once.limited + all.limited;
