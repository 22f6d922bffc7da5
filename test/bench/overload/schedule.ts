import type { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { byChance, type Due } from '../support/open-loop.ts';
import { type Rates, totalOf } from './calls.ts';

/** A part of a run with a constant load. */
export interface Phase {
  /** Requests at random times, independent of the answers; for bursts and clients only the mix of operations. */
  readonly rates: Rates;
  readonly seconds: number;
  /** Bursts instead of random requests: this many at once, at the beginning and after each interval. */
  readonly bursts?: { readonly size: number; readonly everyMs: number };
  /** Closed loops instead of random requests: this many clients that each send the next request after an answer. */
  readonly clients?: number;
}

/** The beginning and end of a phase, from the beginning of the run. */
export interface PlacedPhase extends Phase {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** One phase after the other. */
export function placed(phases: readonly Phase[]): readonly PlacedPhase[] {
  let endMs = 0;
  return phases.map((phase) => {
    const fromMs = endMs;
    endMs += phase.seconds * 1000;
    return { ...phase, fromMs, untilMs: endMs };
  });
}

interface ScheduledRequest extends Due {
  readonly phase: PlacedPhase;
}

/** The requests of this phase with their times, as far as they do not depend on the answers. */
export function scheduleOf(phase: PlacedPhase, random: SeededRandom): ScheduledRequest[] {
  const { rates, fromMs, untilMs, bursts, clients } = phase;
  const together = bursts ?? (clients === undefined ? undefined : { size: clients, everyMs: Infinity });
  if (together === undefined)
    return byChance(totalOf(rates), fromMs, untilMs, random).map((due) => ({ ...due, phase }));
  const dues: ScheduledRequest[] = [];
  for (let dueMs = fromMs; dueMs < untilMs; dueMs += together.everyMs) {
    for (let number = 0; number < together.size; number++) dues.push({ dueMs, phase });
  }
  return dues;
}
