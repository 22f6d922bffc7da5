import { quantilesOf } from '../support/report.ts';
import { type Call, isRight, type Outcome } from './calls.ts';
import type { PlacedPhase } from './schedule.ts';

/**
 * One request. Instants are ms from the beginning of the run; times count from when it was due, not from when it was
 * sent.
 */
export interface Exchange {
  readonly call: Call;
  readonly dueMs: number;
  readonly sentMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

/** The results of the requests that were due in one phase. */
export interface Tally {
  readonly seconds: number;
  readonly requests: number;
  /** Requests due in this phase without a right answer in time. */
  readonly failed: number;
  /**
   * Right answers that did not come from a cache. They count in the phase in which they arrived: otherwise a backlog
   * that is worked off later would look like speed.
   */
  readonly rightByIndexer: number;
  /** The share of right answers among the unique requests, without `pendingTraces`. */
  readonly othersShare: number;
  readonly refusals: number;
  readonly left: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly missP50Ms: string;
  readonly missP99Ms: string;
  readonly hitP99Ms: string;
  readonly refusedP99Ms: string;
  /** The delay of the generator itself. */
  readonly generatorP99Ms: string;
  /**
   * From the beginning of the phase to the first second in which all requests got a right answer; no value without such
   * a second.
   */
  readonly wholeAfterMs: number | undefined;
}

/** The results of a phase, from the requests of all phases. */
export function tally(all: readonly Exchange[], { fromMs, untilMs, seconds }: PlacedPhase): Tally {
  const due = all.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs);
  const right = due.filter(({ outcome }) => isRight(outcome));
  const failed = due.filter(({ outcome }) => !isRight(outcome));
  const refusals = due.filter(({ outcome }) => outcome === 'refused');
  const isOther = ({ call }: Exchange) => call.kind === 'unique' && call.operation !== 'pendingTraces';
  const errors = failed.flatMap(({ outcome }) => (typeof outcome === 'object' ? [outcome.error] : []));
  const p99 = (times: readonly number[]) => quantilesOf(times)(0.99);
  const times = (some: readonly Exchange[]) => some.map(({ endMs, dueMs }) => endMs - dueMs);
  const took = (some: readonly Exchange[]) => p99(times(some));
  const misses = right.filter(({ call }) => call.kind === 'unique');
  let wholeFrom = fromMs;
  for (const { dueMs } of failed.toSorted((a, b) => a.dueMs - b.dueMs)) {
    if (dueMs - wholeFrom >= 1000) break;
    wholeFrom = dueMs;
  }
  return {
    seconds,
    requests: due.length,
    failed: failed.length,
    rightByIndexer: all.filter(({ outcome, endMs }) => outcome === 'miss' && endMs >= fromMs && endMs < untilMs).length,
    othersShare: right.filter(isOther).length / due.filter(isOther).length,
    refusals: refusals.length,
    left: due.filter(({ outcome }) => outcome === 'left').length,
    errors: Object.fromEntries(
      [...Map.groupBy(errors, (error) => error)].map(([error, { length }]) => [error, length]),
    ),
    missP50Ms: quantilesOf(times(misses))(0.5),
    missP99Ms: took(misses),
    hitP99Ms: took(right.filter(({ call }) => call.kind === 'hot')),
    refusedP99Ms: took(refusals),
    generatorP99Ms: p99(due.map(({ sentMs, dueMs }) => sentMs - dueMs)),
    wholeAfterMs: wholeFrom + 1000 <= untilMs ? wholeFrom - fromMs : undefined,
  };
}
