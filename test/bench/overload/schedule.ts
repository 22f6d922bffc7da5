import type { SeededRandom } from '../../../src/simulator/seeded-random.ts';
import { type Call, type Calls, type Rates, totalOf } from './calls.ts';

/** A part of a run in which the rates stay the same. */
export interface Phase {
  readonly rates: Rates;
  readonly seconds: number;
}

/** A request that is to be sent. */
export interface Due {
  readonly call: Call;
  /** From the begin of the run. */
  readonly dueMs: number;
  /** Number of its phase. */
  readonly phase: number;
  /** How often the same was asked before. */
  readonly retries: number;
}

/** When each phase begins, from the begin of the run, in milliseconds; and last when the last one ends. */
export function bordersOf(phases: readonly Phase[]): readonly number[] {
  let endMs = 0;
  return [0, ...phases.map(({ seconds }) => (endMs += seconds * 1000))];
}

/** Requests that come as those of many who know nothing of each other: with exponential gaps, whatever becomes of them. */
export function scheduleOf(phases: readonly Phase[], calls: Calls, random: SeededRandom): readonly Due[] {
  const borders = bordersOf(phases);
  return phases.flatMap(({ rates }, phase) => {
    const ratePerSecond = totalOf(rates);
    const due: Due[] = [];
    const untilMs = borders[phase + 1] ?? 0;
    for (let dueMs = borders[phase] ?? 0; ; ) {
      dueMs -= (Math.log(1 - random.next()) * 1000) / ratePerSecond;
      if (dueMs >= untilMs) return due;
      due.push({ call: calls.next(rates), dueMs, phase, retries: 0 });
    }
  });
}
