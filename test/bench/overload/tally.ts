import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Call } from './calls.ts';
import type { Outcome } from './outcome.ts';

/**
 * What became of the requests of one phase. Times count from when a request was due, not from when it was sent. Right
 * answers count in the phase in which they came, or a backlog that is worked off later would look like speed.
 */
export interface Tallied {
  readonly seconds: number;
  readonly requests: number;
  /** Of those due in this phase, with no right answer in time. */
  readonly failed: number;
  /** Right answers that no cache had. */
  readonly rightByIndexer: number;
  /** What became of the unique requests of this phase for anything but `pendingTraces`. */
  readonly others: { readonly requests: number; readonly right: number };
  readonly sheds: number;
  readonly left: number;
  readonly errors: Readonly<Record<string, number>>;
  /** 99th percentiles; without a value where there was none of that kind. */
  readonly missP99Ms: number | undefined;
  readonly hitP99Ms: number | undefined;
  readonly shedP99Ms: number | undefined;
  /** By how much the generator was late itself. */
  readonly lateP99Ms: number | undefined;
  /** From the begin of the phase until a second all of whose requests were answered right; none in the phase: no value. */
  readonly wholeAfterMs: number | undefined;
}

/** Counts what becomes of the requests of one phase. */
export class Tally {
  readonly #seconds: number;
  readonly #times = {
    miss: createHistogram(),
    hit: createHistogram(),
    shed: createHistogram(),
    late: createHistogram(),
  };
  readonly #errors: Record<string, number> = {};
  readonly #failedAtMs: number[] = [];
  readonly #others = { requests: 0, right: 0 };
  #rightByIndexer = 0;
  #left = 0;

  constructor(seconds: number) {
    this.#seconds = seconds;
  }

  /** A request was sent that long after it was due. */
  sent(lateMs: number): void {
    record(this.#times.late, lateMs);
  }

  /** A right answer came in this phase. */
  answered(fromCache: boolean): void {
    if (!fromCache) this.#rightByIndexer++;
  }

  /** A request has ended that was due at `dueMs` of the phase, that long after. */
  ended({ kind, operation }: Call, outcome: Outcome, dueMs: number, ms: number): void {
    const isRight = outcome.kind === 'right';
    if (kind === 'unique' && operation !== 'pendingTraces') {
      this.#others.requests++;
      if (isRight) this.#others.right++;
    }
    if (isRight) record(kind === 'hot' ? this.#times.hit : this.#times.miss, ms);
    else this.#failedAtMs.push(dueMs);
    if (outcome.kind === 'shed') record(this.#times.shed, ms);
    if (outcome.kind === 'left') this.#left++;
    if (outcome.kind === 'error') this.#errors[outcome.error] = (this.#errors[outcome.error] ?? 0) + 1;
  }

  result(): Tallied {
    const { miss, hit, shed, late } = this.#times;
    return {
      seconds: this.#seconds,
      requests: late.count,
      failed: this.#failedAtMs.length,
      rightByIndexer: this.#rightByIndexer,
      others: this.#others,
      sheds: shed.count,
      left: this.#left,
      errors: this.#errors,
      missP99Ms: p99(miss),
      hitP99Ms: p99(hit),
      shedP99Ms: p99(shed),
      lateP99Ms: p99(late),
      wholeAfterMs: this.#wholeAfterMs(),
    };
  }

  #wholeAfterMs(): number | undefined {
    let wholeFrom = 0;
    for (const failedAt of this.#failedAtMs.toSorted((a, b) => a - b)) {
      if (failedAt - wholeFrom >= 1000) break;
      wholeFrom = failedAt;
    }
    return wholeFrom + 1000 <= this.#seconds * 1000 ? wholeFrom : undefined;
  }
}

function record(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * 1000)));
}

function p99(histogram: RecordableHistogram): number | undefined {
  return histogram.count === 0 ? undefined : histogram.percentile(99) / 1000;
}
