import { REQUEST_OUTCOMES, type RequestOutcome } from '../answer/phase.ts';
import type { EventHub } from '../event-hub.ts';
import { isBadResult, isGoodStatus, OUTCOMES, outcomeOfResult } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Counts are kept in spans of at least this length: in detail for a minute, and as two sums for five. */
const [SPAN_MS, DETAILED_MS, KEPT_MS]: [Ms, Ms, Ms] = [500, 60_000, 300_000];

/** Bounds of times, in milliseconds: the last bucket is for longer ones. */
const BOUNDS_MS: readonly Ms[] = [
  0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 2500, 5000, 10_000, 30_000, 120_000,
];

/** The codes of failures that are refusals by this process, not failures of the indexer. */
const REFUSALS: readonly string[] = ['overloaded', 'shutting-down'];

/** The number of times in each bucket of {@link BOUNDS_MS}. */
type TimeCounts = number[];

const noTimes = (): TimeCounts => new Array<number>(BOUNDS_MS.length + 1).fill(0);

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
  /** Of those that memory did not answer. */
  times: noTimes(),
});

/** The requests to one indexer: with passed-through ones, and without. */
type SentCounts = {
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

/** The counts of a span of time. */
export class Span {
  from: MonotonicMs;
  until: MonotonicMs;
  readonly operations = new Map<string, Requests>();
  readonly upstreams = new Map<string, SentCounts>();
  readonly once = { limited: 0, evicted: 0, older: 0 };
  readonly upstreamTimes = noTimes();

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

  /** The requests for all operations. */
  get all(): Requests {
    const all = noRequests();
    for (const its of this.operations.values()) addTo(all, its);
    return all;
  }

  get sums(): Sums {
    let [asked, failed] = [0, 0];
    for (const its of this.operations.values()) {
      asked += askedOf(its);
      failed += failedOf(its);
    }
    return { asked, failed };
  }

  add(other: Span): void {
    for (const [name, its] of other.operations) addTo(this.operation(name), its);
    for (const [name, its] of other.upstreams) addTo(this.upstream(name), its);
    addTo(this.once, other.once);
    addTo(this.upstreamTimes, other.upstreamTimes);
  }
}

function inMap<T>(all: Map<string, T>, name: string, create: () => T): T {
  let value = all.get(name);
  if (value === undefined) {
    value = create();
    all.set(name, value);
  }
  return value;
}

type Numbers = { [name in string]?: number | Numbers } | number[];

/** Adds each number of the second to that of the first. */
function addTo(sum: Numbers, other: Numbers): void {
  const [into, from] = [sum as Record<string, number | Numbers>, other as Record<string, number | Numbers>];
  for (const name in from) {
    const value = from[name];
    if (typeof value === 'number') into[name] = ((into[name] ?? 0) as number) + value;
    else if (value !== undefined) addTo(into[name] as Numbers, value);
  }
}

/** The valid requests that were answered or should have been; not those above the limit of their client. */
export const askedOf = (its: Requests): number =>
  REQUEST_OUTCOMES.reduce((sum, outcome) => sum + its[outcome], 0) - its.invalid - its.limited;

/** Those that the cache answered. */
export const hitsOf = (its: Requests): number => its['hit-memory'] + its['hit-redis'] + its['hit-proven'] + its.stale;

/** Those without an answer. */
export const failedOf = (its: Requests): number => its.failed - its.limited;

/**
 * A quantile (0 to 1) of times, in seconds, linear within a bucket as in Prometheus; `undefined` without any. `atOnce`: the
 * number of additional times of 0.
 */
export function quantileOf(times: TimeCounts, part: number, atOnce = 0): number | undefined {
  const rank = part * (times.reduce((sum, count) => sum + count, 0) + atOnce);
  if (rank <= 0) return undefined;
  let below = atOnce;
  if (rank <= below) return 0;
  for (const [index, count] of times.entries()) {
    const fromMs = BOUNDS_MS[index - 1] ?? 0;
    const toMs = BOUNDS_MS[index] ?? fromMs;
    if (below + count >= rank) return (fromMs + ((toMs - fromMs) * (rank - below)) / count) / 1000;
    below += count;
  }
  return undefined;
}

export interface CountedDependencies {
  readonly events: EventHub;
  readonly now: () => MonotonicMs;
  /** Longer is slow. */
  readonly slowMs: Ms;
  /** The operations in use, which are counted from 0. */
  readonly operations: readonly string[];
}

/** Counts requests of clients and to indexers by second, for five minutes. */
export class Counted {
  readonly #now: () => MonotonicMs;
  /** Of the last minute, oldest first. */
  #spans: Span[] = [];
  /** Of the last five minutes, oldest first. */
  #sums: (Sums & { readonly until: MonotonicMs })[] = [];
  #span: Span;
  /** Since the start. */
  readonly totals = { answered: 0, sent: 0, older: 0, limited: 0 };

  constructor({ events, now, slowMs, operations }: CountedDependencies) {
    this.#now = now;
    this.#span = new Span(now());
    const first = this.#span;
    for (const operation of operations) first.operation(operation);
    events.on('answered', ({ operation, outcome }) => {
      this.#span.operation(operation)[outcome]++;
      if (outcome !== 'invalid' && outcome !== 'failed') this.totals.answered++;
    });
    events.on('failed', ({ operation, error: { code } }) => {
      if (code === 'too-many-requests') {
        this.#span.operation(operation).limited++;
        this.totals.limited++;
      }
      if (REFUSALS.includes(code)) this.#span.operation(operation).refused++;
    });
    events.on('refused', ({ code }) => {
      if (code !== 'too-many-requests') return;
      this.#span.once.limited++;
      this.totals.limited++;
    });
    events.on('waited', ({ operation, ms }) => {
      const its = this.#span.operation(operation);
      count(its.times, ms);
      if (ms > slowMs) its.slow++;
    });
    events.on('evicted', () => void this.#span.once.evicted++);
    events.on('older-answer', () => {
      this.#span.once.older++;
      this.totals.older++;
    });
    const sent = (indexer: string, operation: string, ms: Ms, result: string, isGood: boolean) => {
      const its = this.#span.upstream(indexer);
      its.all++;
      if (isGood) its.allGood++;
      its.results[result] = (its.results[result] ?? 0) + 1;
      count(this.#span.upstreamTimes, ms);
      // A passed-through request concerns only its client and the indexer.
      if (operation === 'passthrough') return;
      this.totals.sent++;
      its.sent++;
      if (isGood) its.good++;
      if (isBadResult(result)) its.bad++;
      const ofOperation = this.#span.operation(operation);
      ofOperation.sent++;
      if (ms > slowMs) ofOperation.slowSent++;
      if (['operation', 'all'].includes(OUTCOMES[outcomeOfResult(result)].failureOf)) ofOperation.breaking++;
    };
    events.on('upstream-answered', ({ indexer, operation, ms, status }) =>
      sent(indexer, operation, ms, String(status), isGoodStatus(status)),
    );
    events.on('upstream-failed', ({ indexer, operation, ms, code }) => sent(indexer, operation, ms, code, false));
  }

  /** Begins a new span. Call about once a second. */
  turn(): void {
    const now = this.#now();
    this.#span.until = now;
    if (now - this.#span.from < SPAN_MS) return;
    this.#spans.push(this.#span);
    this.#sums.push({ until: now, ...this.#span.sums });
    this.#span = new Span(now);
    this.#spans = this.#spans.filter(({ until }) => now - until <= DETAILED_MS);
    this.#sums = this.#sums.filter(({ until }) => now - until <= KEPT_MS);
  }

  /** The sums of the last time of this length, at most five minutes. */
  sums(ms: Ms): Sums {
    let { asked, failed } = this.#span.sums;
    for (const each of this.#sums) {
      if (this.#now() - each.until > ms) continue;
      asked += each.asked;
      failed += each.failed;
    }
    return { asked, failed };
  }

  /** The valid requests for an operation in the last minute. */
  asked(operation: string): number {
    return [...this.#spans, this.#span].reduce((sum, { operations }) => {
      const its = operations.get(operation);
      return its === undefined ? sum : sum + askedOf(its);
    }, 0);
  }

  /** The counts of the last time of this length, at most a minute. */
  within(ms: Ms): Span {
    const now = this.#now();
    const spans = [...this.#spans.filter(({ until }) => now - until <= ms), this.#span];
    const all = new Span(spans[0]?.from ?? now);
    for (const span of spans) all.add(span);
    all.until = now;
    return all;
  }
}

function count(times: TimeCounts, ms: Ms): void {
  const bucket = BOUNDS_MS.findIndex((bound) => ms <= bound);
  const place = bucket < 0 ? BOUNDS_MS.length : bucket;
  times[place] = (times[place] ?? 0) + 1;
}
