import { REQUEST_OUTCOMES, type RequestOutcome } from '../answer/phase.ts';
import { inMap } from '../in-map.ts';
import { isBadResult, isGoodStatus, OUTCOMES, outcomeOfResult } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { OPERATIONS } from '../ton/operations.ts';
import type { EventCounts } from './event-counts.ts';

/** Readings are at least this far apart. They are kept in detail for a minute, and as two sums for five. */
const SPAN_MS: Ms = 500;
export const [NOW_MS, MINUTE_MS, KEPT_MS]: [Ms, Ms, Ms] = [10_000, 60_000, 300_000];

/** Fewer of anything in 10 s than this mean nothing. */
export const FEWEST = 3;

/** The codes of failures that are refusals by this process, not failures of the indexer. */
const REFUSALS: readonly string[] = ['overloaded', 'shutting-down'];

/** What is passed through. It shows nothing about the cache, and hardly anything about the indexer: one client can choose it. */
export const PASSED = ['passthrough', 'streaming'] as const;

const isPassed = (operation: string): boolean => operation === 'passthrough' || operation === 'streaming';

/** The requests for one operation, by their outcome, and those to indexers for them. */
const noRequests = () => ({
  ...(Object.fromEntries(REQUEST_OUTCOMES.map((outcome) => [outcome, 0])) as Record<RequestOutcome, number>),
  /** Of the failed ones: refused by this process, and above the limit of their client. */
  refused: 0,
  limited: 0,
  /** Slower than the limit: answers to clients, and of indexers. */
  slow: 0,
  slowSent: 0,
  sent: 0,
  /** Failures that its circuit breaker counts. */
  breaking: 0,
  /** The times of those that memory did not answer, by bucket. */
  times: [] as number[],
});

/** The requests to one indexer: with passed-through ones, and without. */
export type SentCounts = {
  all: number;
  allGood: number;
  sent: number;
  good: number;
  bad: number;
  /** All of them, by status or by the code of a failure. */
  readonly results: Record<string, number>;
};

const noSent = (): SentCounts => ({ all: 0, allGood: 0, sent: 0, good: 0, bad: 0, results: {} });

export type Requests = ReturnType<typeof noRequests>;

/** The valid requests of a span, and those without an answer. */
export interface Sums {
  readonly asked: number;
  readonly failed: number;
}

/** The counts of a span of time, or since the start. */
export class Span {
  from: MonotonicMs;
  readonly until: MonotonicMs;
  readonly operations = new Map<string, Requests>();
  readonly upstreams = new Map<string, SentCounts>();
  readonly once = { limited: 0, evicted: 0, older: 0 };
  readonly upstreamTimes: number[] = [];

  constructor(at: MonotonicMs) {
    this.from = at;
    this.until = at;
  }

  get seconds(): number {
    return Math.max(0.001, (this.until - this.from) / 1000);
  }

  operation(name: string): Requests {
    return inMap(this.operations, name, noRequests);
  }

  upstream(name: string): SentCounts {
    return inMap(this.upstreams, name, noSent);
  }

  get all(): Requests {
    return this.#sumOf(() => true);
  }

  /** Those for operations: without what is passed through. */
  get cached(): Requests {
    return this.#sumOf((operation) => !isPassed(operation));
  }

  /** Those that may be sent to an indexer: a stream has a server and connections of its own. */
  get sendable(): Requests {
    return this.#sumOf((operation) => operation !== 'streaming');
  }

  #sumOf(isIn: (operation: string) => boolean): Requests {
    const sum = noRequests();
    for (const [operation, its] of this.operations) if (isIn(operation)) add(sum, its);
    return sum;
  }

  /** The requests above the limit of their client, before and after their operation was read. */
  get limited(): number {
    return this.once.limited + this.all.limited;
  }

  /** Those, and the ones that this process refused. */
  get refused(): number {
    return this.all.refused + this.limited;
  }

  /** The requests that failed, but for the refused ones. */
  get failed(): number {
    return failedOf(this.all) - this.all.refused;
  }

  /** The requests of clients, but for their mistakes. */
  get clients(): number {
    return askedOf(this.all) + this.limited;
  }

  /** The answers to requests that may be sent to an indexer, and the requests that were sent. */
  get saving(): Readonly<Record<'answered' | 'sent', number>> {
    const { sendable, upstreams } = this;
    const sent = [...upstreams.values()].reduce((sum, { all }) => sum + all, 0);
    return { answered: askedOf(sendable) - failedOf(sendable), sent };
  }

  get sums(): Sums {
    const { all } = this;
    return { asked: askedOf(all), failed: failedOf(all) };
  }

  /** Removes the counts of a span that ended earlier: those after it remain. */
  begin({ until, operations, upstreams, once, upstreamTimes }: Span): void {
    this.from = until;
    for (const [name, its] of operations) add(this.operation(name), its, -1);
    for (const [name, its] of upstreams) add(this.upstream(name), its, -1);
    add(this.once, once, -1);
    add(this.upstreamTimes, upstreamTimes, -1);
  }
}

type Numbers = { [name in string]?: number | Numbers } | number[];

/** Adds to each number that of the other, so many times. */
function add(sum: Numbers, other: Numbers, times = 1): void {
  // The casts: both have the same members.
  const [into, from] = [sum as Record<string, number | Numbers>, other as Record<string, number | Numbers>];
  for (const name in from) {
    const value = from[name];
    if (typeof value === 'number') into[name] = ((into[name] as number | undefined) ?? 0) + times * value;
    else if (value !== undefined) add(into[name] as Numbers, value, times);
  }
}

/** The valid requests that were answered or should have been; not those above the limit of their client. */
export const askedOf = (its: Requests): number =>
  REQUEST_OUTCOMES.reduce((sum, outcome) => sum + its[outcome], 0) - its.invalid - its.limited;

/** Those that the cache answered. */
export const hitsOf = (its: Requests): number => its['hit-memory'] + its['hit-redis'] + its['hit-proven'] + its.stale;

/** Those without an answer. */
export const failedOf = (its: Requests): number => its.failed - its.limited;

/** The counts of the last minutes: differences between readings of the {@link EventCounts}, one a second. */
export class Counted {
  readonly #counts: EventCounts;
  readonly #now: () => MonotonicMs;
  /** Those of the last minute, and the last one before it; oldest first. */
  readonly #readings: [Span, ...Span[]];
  /** The same of the last five minutes. */
  readonly #sums: [Sums & { readonly until: MonotonicMs }, ...(Sums & { readonly until: MonotonicMs })[]];

  constructor(counts: EventCounts, now: () => MonotonicMs) {
    this.#counts = counts;
    this.#now = now;
    const first = this.#read();
    this.#readings = [first];
    this.#sums = [{ until: first.until, ...first.sums }];
  }

  /** Keeps a reading. Call about once a second. */
  turn(): void {
    const reading = this.#read();
    const { until } = reading;
    if (until - (this.#readings.at(-1)?.until ?? 0) < SPAN_MS) return;
    this.#readings.push(reading);
    this.#sums.push({ until, ...reading.sums });
    forget(this.#readings, until - MINUTE_MS);
    forget(this.#sums, until - KEPT_MS);
  }

  /** The sums of the last time of this length, at most five minutes. */
  sums(ms: Ms): Sums {
    const { until, sums } = this.#read();
    const before = lastBefore(this.#sums, until - ms);
    return { asked: sums.asked - before.asked, failed: sums.failed - before.failed };
  }

  /** The counts of the last time of this length, at most a minute. */
  within(ms: Ms): Span {
    const span = this.#read();
    span.begin(lastBefore(this.#readings, span.until - ms));
    return span;
  }

  /** Since the start. */
  get totals(): Readonly<Record<'answered' | 'sent' | 'older' | 'limited', number>> {
    const span = this.#read();
    return { ...span.saving, older: span.once.older, limited: span.limited };
  }

  /** The bounds of all times, in seconds. */
  get bounds(): readonly number[] {
    return this.#counts.bounds;
  }

  /** All counts since the start. */
  #read(): Span {
    const { requests, failures, refused, evicted, olderAnswers } = this.#counts;
    const all = new Span(this.#now());
    for (const [[operation, outcome], { value }] of requests.entries) all.operation(operation)[outcome] += value;
    for (const [[operation, code], { value }] of failures.entries) {
      const its = all.operation(operation);
      if (code === 'too-many-requests') its.limited += value;
      if (REFUSALS.includes(code)) its.refused += value;
    }
    for (const [[code], { value }] of refused.entries) if (code === 'too-many-requests') all.once.limited += value;
    all.once.evicted = evicted.of([]).value;
    all.once.older = olderAnswers.of([]).value;
    this.#readTimes(all);
    this.#readSent(all);
    return all;
  }

  #readTimes(all: Span): void {
    const { waited, sentTimes, slowFrom } = this.#counts;
    const slow = (counts: readonly number[]) => counts.slice(slowFrom).reduce((sum, count) => sum + count, 0);
    for (const [[operation], { counts }] of waited.entries) {
      const its = all.operation(operation);
      its.slow += slow(counts);
      add(its.times, counts);
    }
    for (const [[operation], { counts }] of sentTimes.entries) {
      if (!isPassed(operation)) all.operation(operation).slowSent += slow(counts);
      add(all.upstreamTimes, counts);
    }
  }

  #readSent(all: Span): void {
    for (const [[indexer, operation, answered], { value }] of this.#counts.sent.entries) {
      if (isOwnError(operation, answered)) continue;
      const its = all.upstream(indexer);
      const result = String(answered);
      const isGood = typeof answered === 'number' && isGoodStatus(answered);
      its.all += value;
      if (isGood) its.allGood += value;
      its.results[result] = (its.results[result] ?? 0) + value;
      if (isPassed(operation)) continue;
      its.sent += value;
      if (isGood) its.good += value;
      // Of a rate limit the pause tells.
      if (isBadResult(result) && outcomeOfResult(result) !== 'rate-limited') its.bad += value;
      const ofOperation = all.operation(operation);
      ofOperation.sent += value;
      if (['operation', 'all'].includes(OUTCOMES[outcomeOfResult(result)].failureOf)) ofOperation.breaking += value;
    }
  }
}

/** True for a status that answers a request and shows nothing about the indexer. */
function isOwnError(operation: string, answered: string | number): boolean {
  return OPERATIONS.get(operation)?.ownErrors?.includes(Number(answered)) === true;
}

interface Dated {
  readonly until: MonotonicMs;
}

/** The last one that ended before an instant, or the first. */
function lastBefore<T extends Dated>(all: readonly [T, ...T[]], at: MonotonicMs): T {
  return all.findLast(({ until }) => until < at) ?? all[0];
}

/** Removes those that are not needed for the time since an instant. */
function forget(all: Dated[], before: MonotonicMs): void {
  while ((all[1]?.until ?? before) < before) all.shift();
}
