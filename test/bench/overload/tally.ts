import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Call, Operation } from './calls.ts';
import type { Outcome } from './outcome.ts';

/**
 * What became of the requests of one phase. Times count from when a request was due, not from when it was sent. Right
 * answers count in the phase in which they came, or a backlog that is worked off later would look like speed.
 */
export interface Tallied {
  readonly seconds: number;
  readonly requests: number;
  /** Right answers in time: to unique calls, to hot ones, and those of both that no cache had. */
  readonly rightMisses: number;
  readonly rightHits: number;
  readonly rightByIndexer: number;
  readonly sheds: number;
  /** What became of the unique ones that were due in this phase. */
  readonly uniqueBy: Readonly<Record<Operation, Share>>;
  readonly left: number;
  readonly errors: Readonly<Record<string, number>>;
  /** 99th percentiles; without a value where there was none of that kind. */
  readonly missP99Ms: number | undefined;
  readonly hitP99Ms: number | undefined;
  readonly shedP99Ms: number | undefined;
  /** Until whatever came, or the client left. */
  readonly anyP99Ms: number | undefined;
  /** By how much the generator was late itself. */
  readonly lateP99Ms: number | undefined;
  /** From the begin of the phase until a second all of whose requests were answered right; none in the phase: no value. */
  readonly wholeAfterMs: number | undefined;
}

/** Of so many requests so many were answered right in time. */
export interface Share {
  readonly requests: number;
  readonly right: number;
}

const NONE: Share = { requests: 0, right: 0 };

/** Counts what becomes of the requests of one phase. */
export class Tally {
  readonly #lengthMs: number;
  readonly #times = {
    miss: createHistogram(),
    hit: createHistogram(),
    shed: createHistogram(),
    any: createHistogram(),
    late: createHistogram(),
  };
  readonly #errors: Record<string, number> = {};
  readonly #failedAtMs: number[] = [];
  readonly #uniqueBy: Record<Operation, Share> = {
    pendingTraces: NONE,
    adjacentTransactions: NONE,
    masterchainBlockShards: NONE,
  };
  #rightMisses = 0;
  #rightHits = 0;
  #rightByIndexer = 0;
  #left = 0;

  constructor(seconds: number) {
    this.#lengthMs = seconds * 1000;
  }

  /** A request was sent that long after it was due. */
  sent(lateMs: number): void {
    record(this.#times.late, lateMs);
  }

  /** A right answer came in this phase. */
  answered(call: Call, fromCache: boolean): void {
    if (call.kind === 'hot') this.#rightHits++;
    else this.#rightMisses++;
    if (!fromCache) this.#rightByIndexer++;
  }

  /** A request has ended that was due at `dueMs` of the phase, that long after. */
  ended(call: Call, outcome: Outcome, dueMs: number, ms: number): void {
    record(this.#times.any, ms);
    if (call.kind === 'unique') {
      const { requests, right } = this.#uniqueBy[call.operation];
      this.#uniqueBy[call.operation] = { requests: requests + 1, right: right + (outcome.kind === 'right' ? 1 : 0) };
    }
    if (outcome.kind !== 'right') this.#failedAtMs.push(dueMs);
    switch (outcome.kind) {
      case 'right':
        record(call.kind === 'hot' ? this.#times.hit : this.#times.miss, ms);
        break;
      case 'shed':
        record(this.#times.shed, ms);
        break;
      case 'left':
        this.#left++;
        break;
      case 'error':
        this.#errors[outcome.error] = (this.#errors[outcome.error] ?? 0) + 1;
        break;
    }
  }

  result(): Tallied {
    const { miss, hit, shed, any, late } = this.#times;
    return {
      seconds: this.#lengthMs / 1000,
      requests: late.count,
      rightMisses: this.#rightMisses,
      rightHits: this.#rightHits,
      rightByIndexer: this.#rightByIndexer,
      sheds: shed.count,
      uniqueBy: this.#uniqueBy,
      left: this.#left,
      errors: this.#errors,
      missP99Ms: p99(miss),
      hitP99Ms: p99(hit),
      shedP99Ms: p99(shed),
      anyP99Ms: p99(any),
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
    return wholeFrom + 1000 <= this.#lengthMs ? wholeFrom : undefined;
  }
}

function record(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * 1000)));
}

function p99(histogram: RecordableHistogram): number | undefined {
  return histogram.count === 0 ? undefined : histogram.percentile(99) / 1000;
}
