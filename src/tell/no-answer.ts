import type { ProxyError } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import type { ConditionName } from './conditions.ts';
import { askedOf, type Counted, FEWEST, failedOf, KEPT_MS, MINUTE_MS, NOW_MS, type Span } from './counted.ts';
import { percent } from './percent.ts';
import type { Conditions } from './present-conditions.ts';

/** If more than this part of the requests gets no answer, it is an outage. */
const BAD_PART = 0.01;

/** No answer: the length of each window, and the fewest failures in it that count. */
const WINDOWS: readonly (readonly [Ms, fewest: number])[] = [
  [NOW_MS, FEWEST],
  [MINUTE_MS, 4],
  [KEPT_MS, 20],
];

/** The conditions that explain why an indexer brings no answer, from its last failure to the whole of it. */
export const OF_INDEXER: readonly ConditionName[] = ['indexer-error', 'indexer-fails', 'key-refused', 'not-reached'];

export interface NoAnswerDependencies {
  readonly events: EventHub;
  readonly conditions: Conditions;
  readonly counted: Counted;
  readonly now: () => MonotonicMs;
  /** All indexers, by host and port. */
  readonly indexers: readonly { readonly name: string }[];
  /** Polls the heads of indexers, if it is time. */
  readonly askHeads: () => void;
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

/** Says that requests get no answer, and why: each of them named its condition when it failed. */
export class NoAnswer {
  readonly #dependencies: NoAnswerDependencies;
  #failures: Failures[] = [];
  #causes = new Map<string, Cause>();
  #failedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: NoAnswerDependencies) {
    this.#dependencies = dependencies;
    dependencies.events.on('failed', ({ operation, error }) => this.#count(operation, error));
  }

  /**
   * A request without an answer sets it; it ends a minute after the last one. Without any answer at all it is also set if
   * no indexer can be used. Call about once a second.
   */
  tell(): void {
    const { conditions, counted, now, askHeads } = this.#dependencies;
    const hasFailed = this.#causes.size > 0;
    if (hasFailed) {
      this.#failedAt = now();
      this.#failures.push({ until: now(), causes: this.#causes });
      this.#causes = new Map();
    }
    this.#failures = this.#failures.filter(({ until }) => now() - until <= KEPT_MS);
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
      // Without requests, nothing else finds that an indexer is back.
      askHeads();
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
    const names =
      because === 'breaker-open' ? [...OF_INDEXER, because] : OF_INDEXER.includes(because) ? OF_INDEXER : [because];
    const rows = conditions
      .named(names)
      .filter(({ operation }) => operation === undefined || operation === most.operation)
      .filter(({ upstream }) => most.upstream === undefined || because === 'breaker-open' || upstream === most.upstream)
      .sort((a, b) => names.indexOf(b.name) - names.indexOf(a.name));
    const [first] = rows;
    const said = new Set(rows.filter(({ name }) => name === first?.name).map(({ says }) => says));
    return { says: said.size === 0 ? most.says : [...said].join(', '), because: first?.name ?? because };
  }

  #count(operation: string, error: ProxyError): void {
    if (error.code === 'too-many-requests') return;
    const { condition, says } = error.why;
    const { indexer: upstream } = error.details;
    const key = `${upstream} ${operation} ${says}`;
    const known = this.#causes.get(key);
    if (known === undefined) this.#causes.set(key, { condition, upstream, operation, says, count: 1 });
    else known.count++;
  }
}

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
