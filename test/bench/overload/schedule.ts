import type { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { byChance, type Due } from '../support/open-loop.ts';
import { type Rates, totalOf } from './calls.ts';

/** A part of a run in which what is offered stays the same. */
export interface Phase {
  /** Requests by chance, whatever becomes of them; for bursts and clients only how the operations are mixed. */
  readonly rates: Rates;
  readonly seconds: number;
  /** So many requests at once, at the begin and again after each interval, instead of requests by chance. */
  readonly bursts?: { readonly size: number; readonly everyMs: number };
  /** So many clients that each ask again when they were answered, instead of requests by chance. */
  readonly clients?: number;
}

/** When a phase begins and ends, from the begin of the run. */
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

/** What is sent when in this phase, as far as it does not depend on the answers. */
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
