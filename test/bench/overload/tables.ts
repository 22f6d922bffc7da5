import type { Mode } from './options.ts';
import type { ScenarioResult } from './run-scenario.ts';
import { CAPACITY_PER_SECOND, type Scenario } from './scenarios.ts';

/** What a scenario did in one mode. */
export interface Run extends ScenarioResult {
  readonly mode: Mode;
  readonly scenario: Scenario;
}

/** A generator later than this had no processor when it needed one, and neither had those that it measures. */
const TOO_LATE_MS = 50;

export const HEAD = [
  'mode, load',
  'requests',
  'answered',
  'of the capacity',
  'but pendingTraces',
  'refused',
  'left',
  'miss p99 ms',
  'hit p99 ms',
  'refused p99 ms',
  'whole after s',
  'errors',
  'polite answered',
  'polite p99 ms',
];

/** What clients saw while the load lasted, and how soon all was answered after it. */
export function rowOf({ mode, scenario, load, after, polite }: Run): string[] {
  const { requests, sheds, left, others, failed, rightByIndexer } = load;
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const atIndexer = rightByIndexer + (polite?.rightByIndexer ?? 0);
  const errors = Object.entries(load.errors).map(([error, count]) => `${count} ${error}`);
  return [
    `${mode}, ${scenario.name}`,
    `${requests}`,
    `${requests - failed}`,
    percent((atIndexer / load.seconds / CAPACITY_PER_SECOND) * (scenario.serviceMs / 50)),
    others.requests === 0 ? '' : percent(others.right / others.requests),
    `${sheds}`,
    `${left}`,
    milliseconds(load.missP99Ms),
    milliseconds(load.hitP99Ms),
    milliseconds(load.shedP99Ms),
    after.wholeAfterMs === undefined ? `> ${after.seconds - 1}` : (after.wholeAfterMs / 1000).toFixed(1),
    errors.join(', '),
    polite === undefined ? '' : percent(1 - polite.failed / polite.requests),
    milliseconds(polite?.missP99Ms),
  ];
}

/** The runs in which the machine was too busy for the figures to say much. */
export function lateRuns(runs: readonly Run[]): string[] {
  const late = runs.filter(({ load }) => (load.lateP99Ms ?? 0) > TOO_LATE_MS);
  return late.map(({ mode, scenario }) => `${mode}, ${scenario.name}`);
}

function milliseconds(value: number | undefined): string {
  return value?.toFixed(0) ?? '';
}
