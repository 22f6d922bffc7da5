import { duration, type Ms } from '../time-units.ts';
import type { ConditionName } from './conditions.ts';
import { askedOf, FEWEST, failedOf, KEPT_MS, MINUTE_MS, NOW_MS, type Span } from './counted.ts';
import { areEnough, type CountedConditionsDependencies, QUIET_MS, WINDOWS } from './counted-conditions.ts';
import { ageOf } from './episode-words.ts';
import { FailedRequests } from './failed-requests.ts';

/** If more than this part of the requests gets no answer, it is an outage. */
const BAD_PART = 0.01;

/** How often the share of failed requests may change. */
const SHARE_MS: Ms = 5000;

/** A share, 0 to 1, in steps of 5 %: only none is 0, and only all is 100 %. */
function fives(part: number): string {
  const rounded = Math.min(part === 1 ? 100 : 95, 5 * Math.round(20 * part));
  return rounded === 0 ? 'under 5 %' : `${rounded} %`;
}

/** The conditions that explain why an indexer brings no answer, from its last failure to the whole of it. */
export const OF_INDEXER: readonly ConditionName[] = ['indexer-error', 'indexer-fails', 'key-refused', 'not-reached'];

/** Reports that requests get no answer, and why: each of them named its condition when it failed. */
export class NoAnswer {
  readonly #dependencies: CountedConditionsDependencies;
  readonly #failed: FailedRequests;
  #share = { ms: 0, at: Number.NEGATIVE_INFINITY, words: '' };

  constructor(dependencies: CountedConditionsDependencies) {
    this.#dependencies = dependencies;
    const { events, now, share } = dependencies;
    const failed = new FailedRequests(now, share);
    this.#failed = failed;
    events.on('failed', ({ error, ...request }) => {
      const { code, why, details } = error;
      if (code === 'too-many-requests') return;
      const { condition, says } = why;
      const { indexer: upstream, reason } = details;
      const cause = { condition, upstream, operation: request.operation, says };
      failed.add({ cause, request, isForLoad: condition === 'overloaded' && reason !== 'rate-limit' });
    });
  }

  /**
   * Requests without an answer set it, as degraded if they are those of one key or client. It ends a minute after the
   * last one. Without any answer at all it is also set if no indexer can be used. Call about once a second.
   */
  tell(): void {
    const { conditions, counted, share } = this.#dependencies;
    const hasFailed = this.#failed.turn();
    share.forgetAfter(KEPT_MS);
    const bad = WINDOWS.find(([ms, fewest]) => {
      const { asked, failed } = counted.sums(ms);
      return areEnough(failed, asked, fewest) && failed > BAD_PART * asked;
    });
    const minute = counted.sums(MINUTE_MS);
    const nobody = minute.asked === minute.failed ? this.#unusable() : undefined;
    if (bad !== undefined && hasFailed) {
      const { says, because } = this.#causeIn(bad[0]);
      const effect = this.#effectIn(bad[0]);
      const isWide = nobody !== undefined || this.#failed.areWide(bad[0], counted.sums(bad[0]).asked);
      conditions.set(isWide ? 'no-answer' : 'one-unanswered', {}, says, { because, effect });
      this.#clear(isWide ? 'one-unanswered' : 'no-answer');
    } else if (bad === undefined && nobody !== undefined) {
      const { says, name } = nobody;
      conditions.set('no-answer', {}, says, { because: name, effect: 'nothing can be answered' });
      this.#clear('one-unanswered');
    } else if (this.#failed.quietMs >= QUIET_MS) {
      this.#clear('no-answer');
      this.#clear('one-unanswered');
    }
  }

  #clear(name: 'no-answer' | 'one-unanswered'): void {
    const { conditions } = this.#dependencies;
    const { quietMs } = this.#failed;
    if (quietMs >= QUIET_MS && quietMs <= MINUTE_MS)
      conditions.say(name, {}, { effect: `no request has failed for ${ageOf(quietMs)}` });
    conditions.clear(name);
  }

  /** What each indexer lacks, that of the first one; `undefined` while one of them may answer. */
  #unusable() {
    const { conditions, indexers } = this.#dependencies;
    const each = indexers.map(({ name }) => conditions.named(['key-refused', 'not-reached'], name).at(-1));
    return each.every((it) => it !== undefined) ? each[0] : undefined;
  }

  /** `15 % of requests fail (pendingTraces)`. The share stays the same for 5 s, so that it can be read. */
  #effectIn(ms: Ms): string {
    const { counted, now } = this.#dependencies;
    if (ms !== this.#share.ms || now() - this.#share.at >= SHARE_MS) {
      const { asked, failed } = counted.sums(ms);
      this.#share = { ms, at: now(), words: fives(failed / asked) };
    }
    const some = operationsOf(counted.within(Math.min(ms, MINUTE_MS)));
    return `${this.#share.words} of requests ${ms === NOW_MS ? 'fail' : `failed in ${duration(ms)}`}${some}`;
  }

  /** What refused or failed most of the requests, in the words of the present condition if there is one. */
  #causeIn(ms: Ms): { readonly says: string; readonly because: ConditionName | undefined } {
    const { conditions } = this.#dependencies;
    const all = this.#failed.causes(ms);
    const sums = new Map<ConditionName, number>();
    for (const { condition, count } of all) sums.set(condition, (sums.get(condition) ?? 0) + count);
    const [[because] = []] = [...sums].sort(([, a], [, b]) => b - a);
    const most = all.filter(({ condition }) => condition === because).at(-1);
    if (most === undefined || because === undefined) return { says: 'requests fail', because: undefined };
    const names = this.#explaining(because);
    const rows = conditions
      .named(names)
      .filter(({ operation }) => operation === undefined || operation === most.operation)
      .filter(({ upstream }) => most.upstream === undefined || because === 'breaker-open' || upstream === most.upstream)
      .sort((a, b) => names.indexOf(b.name) - names.indexOf(a.name));
    const [first] = rows;
    const said = new Set(rows.filter(({ name }) => name === first?.name).map(({ says }) => says));
    return { says: said.size === 0 ? most.says : [...said].join(', '), because: first?.name ?? because };
  }

  /** The conditions that may be its cause, the most telling last. Requests also wait for indexers that hang. */
  #explaining(because: ConditionName): readonly ConditionName[] {
    const { counted, indexers } = this.#dependencies;
    if (because === 'breaker-open') return [...OF_INDEXER, because];
    const lately = counted.within(SHARE_MS);
    const areHanging = because === 'overloaded' && indexers.every(({ name }) => lately.upstream(name).good === 0);
    return areHanging ? [because, 'silent', ...OF_INDEXER] : OF_INDEXER.includes(because) ? OF_INDEXER : [because];
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
