import type { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { type Call, type Calls, type Rates, totalOf } from './calls.ts';

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

/** A request that is to be sent. */
export interface Due {
  readonly call: Call;
  /** From the begin of the run. */
  readonly dueMs: number;
  /** Number of its phase. */
  readonly phase: number;
  /** How often the same was asked before. */
  readonly retries: number;
  /** Whether its client asks for something else as soon as it was answered, as long as the phase lasts. */
  readonly asksOn?: boolean;
}

/** When each phase begins, from the begin of the run, in milliseconds; and last when the last one ends. */
export function bordersOf(phases: readonly Phase[]): readonly number[] {
  let endMs = 0;
  return [0, ...phases.map(({ seconds }) => (endMs += seconds * 1000))];
}

/** What is sent when, as far as it does not depend on the answers. */
export function scheduleOf(phases: readonly Phase[], calls: Calls, random: SeededRandom): readonly Due[] {
  const borders = bordersOf(phases);
  return phases.flatMap(({ rates, bursts, clients }, phase) => {
    const [fromMs, untilMs] = [borders[phase] ?? 0, borders[phase + 1] ?? 0];
    const due = (dueMs: number): Due => ({ call: calls.next(rates), dueMs, phase, retries: 0 });
    if (clients !== undefined) return Array.from({ length: clients }, () => ({ ...due(fromMs), asksOn: true }));
    const instants = bursts ? inBursts(bursts, fromMs, untilMs) : byChance(totalOf(rates), fromMs, untilMs, random);
    return instants.map(due);
  });
}

/** As many who know nothing of each other ask: with exponential gaps. */
function byChance(perSecond: number, fromMs: number, untilMs: number, random: SeededRandom): number[] {
  const instants: number[] = [];
  for (let dueMs = fromMs; ; ) {
    dueMs -= (Math.log(1 - random.next()) * 1000) / perSecond;
    if (dueMs >= untilMs) return instants;
    instants.push(dueMs);
  }
}

function inBursts({ size, everyMs }: { size: number; everyMs: number }, fromMs: number, untilMs: number): number[] {
  const count = Math.ceil((untilMs - fromMs) / everyMs);
  return Array.from({ length: count * size }, (_, number) => fromMs + Math.floor(number / size) * everyMs);
}
