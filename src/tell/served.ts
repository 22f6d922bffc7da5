import type { ProxyError } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { isBadResult, isGoodStatus } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ConditionName, Conditions } from './conditions.ts';
import type { IndexerErrors } from './indexer-errors.ts';
import { LimitedClients } from './limited-clients.ts';
import { duration } from './text-table.ts';

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

/** Counts are kept in spans of at least this length. */
const SPAN_MS: Ms = 500;

/** Answers that take longer than this are slow, or than half of `UPSTREAM_TIMEOUT`. */
const SLOW_MS: Ms = 2000;

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
  /** `upstream.timeout`. */
  readonly timeoutMs: Ms;
}

/** The counts of one operation, or of one indexer. */
type Counts = Record<'asked' | 'failed' | 'hits' | 'stale' | 'slow' | 'sent' | 'slowSent' | 'bad' | 'good', number>;

const nothing = (): Counts => ({
  asked: 0,
  failed: 0,
  hits: 0,
  stale: 0,
  slow: 0,
  sent: 0,
  slowSent: 0,
  bad: 0,
  good: 0,
});

/** Why requests failed, as each of them said when it failed. */
interface Cause {
  readonly condition: ConditionName;
  readonly upstream: string | undefined;
  readonly operation: string;
  /** In words, if nothing says more. */
  readonly says: string;
  count: number;
}

/** The counts of a second. */
class Span {
  until: MonotonicMs = Number.POSITIVE_INFINITY;
  readonly operations = new Map<string, Counts>();
  readonly upstreams = new Map<string, Counts>();
  readonly causes = new Map<string, Cause>();
  limited = 0;
  evicted = 0;

  operation(name: string): Counts {
    return countsIn(this.operations, name);
  }

  upstream(name: string): Counts {
    return countsIn(this.upstreams, name);
  }

  add(other: Span): void {
    for (const kind of ['operations', 'upstreams'] as const) {
      for (const [name, its] of other[kind]) {
        const counts = countsIn(this[kind], name);
        for (const [count, value] of Object.entries(its)) counts[count as keyof Counts] += value;
      }
    }
    for (const [key, cause] of other.causes) this.addCause(key, cause, cause.count);
    this.limited += other.limited;
    this.evicted += other.evicted;
  }

  addCause(key: string, cause: Omit<Cause, 'count'>, count: number): void {
    const known = this.causes.get(key);
    if (known === undefined) this.causes.set(key, { ...cause, count });
    else known.count += count;
  }

  sum(count: keyof Counts): number {
    let sum = 0;
    for (const counts of this.operations.values()) sum += counts[count];
    return sum;
  }
}

function countsIn(all: Map<string, Counts>, name: string): Counts {
  let counts = all.get(name);
  if (counts === undefined) {
    counts = nothing();
    all.set(name, counts);
  }
  return counts;
}

/**
 * How clients were served in the last five minutes, counted by second, and the conditions that follow from it: no
 * answer, slow answers, limits, a failing indexer, a backup in use, a small memory.
 */
export class Served {
  readonly #dependencies: ServedDependencies;
  readonly #limitedClients: LimitedClients;
  #spans: Span[] = [];
  #span = new Span();
  #failedAt: MonotonicMs = Number.NEGATIVE_INFINITY;
  #limitedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ServedDependencies) {
    this.#dependencies = dependencies;
    const { events, now, timeoutMs } = dependencies;
    this.#limitedClients = new LimitedClients(now);
    const slowMs = Math.min(SLOW_MS, timeoutMs / 2);
    events.on('client-limited', ({ client }) => this.#limitedClients.count(client));
    events.on('answered', ({ operation, outcome }) => {
      if (outcome === 'invalid' || outcome === 'failed') return;
      const counts = this.#span.operation(operation);
      counts.asked++;
      if (outcome === 'stale') counts.stale++;
      if (outcome === 'stale' || outcome.startsWith('hit-')) counts.hits++;
    });
    events.on('failed', ({ operation, error }) => this.#fail(operation, error));
    events.on('refused', ({ code }) => {
      if (code === 'too-many-requests') this.#span.limited++;
    });
    events.on('shed', ({ reason }) => {
      const { condition } = REFUSED[reason];
      if (condition === 'overloaded') this.#overloaded(sentenceOf(REFUSED[reason]));
      if (condition === 'process-memory') dependencies.conditions.set(condition);
    });
    events.on('waited', ({ operation, ms }) => {
      if (ms > slowMs) this.#span.operation(operation).slow++;
    });
    events.on('evicted', () => void this.#span.evicted++);
    // A passed-through request concerns only its client and the indexer.
    const sent = (indexer: string, operation: string, ms: Ms, isBad: boolean, isGood: boolean) => {
      if (operation === 'passthrough') return;
      for (const counts of [this.#span.upstream(indexer), this.#span.operation(operation)]) {
        counts.sent++;
        if (isBad) counts.bad++;
        if (isGood) counts.good++;
        if (ms > slowMs) counts.slowSent++;
      }
    };
    events.on('upstream-answered', ({ indexer, operation, ms, status }) =>
      sent(indexer, operation, ms, isBadResult(String(status)), isGoodStatus(status)),
    );
    events.on('upstream-failed', ({ indexer, operation, ms, code }) =>
      sent(indexer, operation, ms, isBadResult(code), false),
    );
  }

  /** The valid requests for an operation in the last minute. */
  asked(operation: string): number {
    return this.#within(MINUTE_MS).operations.get(operation)?.asked ?? 0;
  }

  /** Sets and clears the conditions. Call about once a second. */
  tell(): void {
    const now = this.#dependencies.now();
    const span = this.#span;
    if (span.causes.size > 0) this.#failedAt = now;
    if (span.limited > 0) this.#limitedAt = now;
    const since = this.#spans.at(-1)?.until ?? Number.NEGATIVE_INFINITY;
    const isNew = { failure: span.causes.size > 0, limit: span.limited > 0 };
    if (now - since >= SPAN_MS) {
      span.until = now;
      this.#spans.push(span);
      this.#span = new Span();
    }
    this.#spans = this.#spans.filter(({ until }) => now - until <= KEPT_MS);
    const lately = this.#within(NOW_MS);
    this.#tellNoAnswer(isNew.failure);
    this.#tellLimited(lately, isNew.limit);
    this.#tellSlow(lately);
    this.#tellIndexers(lately);
    this.#tellMemory(lately);
    this.#tellCrowd();
  }

  #within(ms: Ms): Span {
    const now = this.#dependencies.now();
    const all = new Span();
    for (const span of this.#spans) if (now - span.until <= ms) all.add(span);
    all.add(this.#span);
    return all;
  }

  #fail(operation: string, error: ProxyError): void {
    if (error.code === 'too-many-requests') {
      this.#span.limited++;
      return;
    }
    const counts = this.#span.operation(operation);
    counts.asked++;
    counts.failed++;
    const { condition, says } = error.why;
    const { indexer: upstream } = error.details;
    this.#span.addCause(`${upstream} ${operation} ${says}`, { condition, upstream, operation, says }, 1);
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
    const windows = WINDOWS.map(([ms, fewest]) => ({ ms, fewest, all: this.#within(ms) }));
    const [, { all: minute } = { all: new Span() }] = windows;
    const bad = windows.find(({ fewest, all }) => {
      const failed = all.sum('failed');
      return failed >= fewest && failed > BAD_PART * all.sum('asked');
    });
    const nobody = minute.sum('asked') === minute.sum('failed') ? this.#unusable() : undefined;
    if (bad !== undefined && hasFailed) {
      const { says, because } = this.#causeOf(bad.all);
      conditions.set('no-answer', {}, `${this.#shareOf(bad.all, bad.ms)}: ${says}`, { because });
    } else if (bad === undefined && nobody !== undefined) {
      const { says, name } = nobody;
      conditions.set('no-answer', {}, `no request can be answered: ${says}`, { because: name });
    } else {
      if (minute.causes.size > 0)
        conditions.say('no-answer', {}, `${this.#shareOf(minute, MINUTE_MS)}: ${this.#causeOf(minute).says}`);
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
  #shareOf(all: Span, ms: Ms): string {
    const part = percent(all.sum('failed'), all.sum('asked'));
    const quietMs = this.#dependencies.now() - this.#failedAt;
    const none = quietMs < 1000 ? '' : `, none for ${duration(1000 * Math.round(quietMs / 1000))}`;
    return ms === NOW_MS
      ? `${part} of requests get no answer${operationsOf(all)}`
      : `${part} of the requests of the last ${duration(ms)} got no answer${operationsOf(all)}${none}`;
  }

  /** What refused or failed most of the requests, in the words of the present condition if there is one. */
  #causeOf(all: Span): { readonly says: string; readonly because: ConditionName | undefined } {
    const { conditions } = this.#dependencies;
    const sums = new Map<ConditionName, number>();
    for (const { condition, count } of all.causes.values()) sums.set(condition, (sums.get(condition) ?? 0) + count);
    const [[because] = []] = [...sums].sort(([, a], [, b]) => b - a);
    const causes = [...all.causes.values()].filter(({ condition }) => condition === because);
    const [most] = causes.sort((a, b) => b.count - a.count);
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

  #tellLimited(lately: Span, isNew: boolean): void {
    const { conditions } = this.#dependencies;
    const { limited } = lately;
    const asked = lately.sum('asked');
    const isMost = limited >= FEWEST && limited > asked;
    const share = (of: Span) => percent(of.limited + of.sum('failed'), of.limited + of.sum('asked'));
    const who = this.#whoIsLimited();
    if (isMost && isNew) conditions.set('limited-most', {}, `${share(lately)} of requests are limited: ${who}`);
    else {
      const minute = this.#within(MINUTE_MS);
      const quiet = duration(1000 * Math.round((this.#dependencies.now() - this.#limitedAt) / 1000));
      const words = `${share(minute)} of the requests of the last minute were limited, none for ${quiet}: ${who}`;
      if (minute.limited > 0) conditions.say('limited-most', {}, words);
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
    const { conditions, timeoutMs } = this.#dependencies;
    const [asked, slow, sent] = [lately.sum('asked'), lately.sum('slow'), lately.sum('sent')];
    const areSlow = slow > Math.max(SLOW_PART * asked, FEWEST - 1);
    const isSlow = (its: Counts) => its.slowSent > SLOW_PART * its.sent;
    const slowSent = lately.sum('slowSent');
    const isIndexerSlow = slowSent > SLOW_PART * sent;
    const areStale = lately.sum('stale') > STALE_PART * asked;
    const used = [...lately.operations].filter(([, its]) => its.sent > 0);
    const names = used.filter(([, its]) => isSlow(its)).map(([name]) => name);
    const some = names.length > 0 && names.length < used.length ? ` (${names.join(', ')})` : '';
    const limit = duration(Math.min(SLOW_MS, timeoutMs / 2));
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
      const { sent, bad, good } = lately.upstreams.get(upstream) ?? nothing();
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
    const [asked, hits] = [lately.sum('asked'), lately.sum('hits')];
    const { evicted } = lately;
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
function operationsOf(all: Span): string {
  const [asked, failed] = [all.sum('asked'), all.sum('failed')];
  const failing = [...all.operations].filter(([, its]) => its.failed > 0);
  const others = asked - failing.reduce((sum, [, its]) => sum + its.asked, 0);
  return (failed / asked) * others >= FEWEST ? ` (${failing.map(([name]) => name).join(', ')})` : '';
}
