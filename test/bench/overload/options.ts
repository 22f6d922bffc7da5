import { parseArgs } from 'node:util';
import { listed, numberUpTo } from '../arguments.ts';
import { SCENARIO_KINDS, type Scenario, scenariosOf } from './scenarios.ts';

/** What the load asks: toncache with its defaults, or nginx with a limit for each address in front of that. */
export const MODES = ['shipped', 'nginx'] as const;
export type Mode = (typeof MODES)[number];

/** One scenario in one mode. */
export interface Trial {
  readonly mode: Mode;
  readonly scenario: Scenario;
}

/** What is measured. */
export interface Options {
  readonly trials: readonly Trial[];
  /** How long the outages last that are measured, in seconds. */
  readonly outages: readonly number[];
}

/** The chain has enough to ask for as long as this at the highest load. */
const MOST_SECONDS = 30;
const HIGHEST_LOAD = 10;
const LONGEST_OUTAGE = 600;

/**
 * Reads `--mode`, `--scenario`, `--loads` (multiples of the capacity), `--seconds` and, for the scenario `outage`,
 * `--outages` (seconds). Throws for others.
 */
export function readOptions(args: string[]): Options {
  const { mode, scenario, ...more } = parseArgs({
    args,
    options: {
      mode: { type: 'string' },
      scenario: { type: 'string' },
      loads: { type: 'string', default: '0.5,5,10' },
      seconds: { type: 'string', default: '8' },
      outages: { type: 'string', default: '10,36,75' },
    },
  }).values;
  const modes = listed('--mode', mode, MODES, ['shipped']);
  const loads = more.loads.split(',').map((load) => numberUpTo('--loads', load, HIGHEST_LOAD));
  const seconds = numberUpTo('--seconds', more.seconds, MOST_SECONDS);
  const names = listed('--scenario', scenario, [...SCENARIO_KINDS, 'outage'], SCENARIO_KINDS);
  const outages = more.outages.split(',').map((outage) => numberUpTo('--outages', outage, LONGEST_OUTAGE));
  const scenarios = SCENARIO_KINDS.filter((kind) => names.includes(kind)).flatMap((kind) =>
    scenariosOf(kind, loads, seconds),
  );
  return {
    trials: scenarios.flatMap((one) => modes.map((name) => ({ mode: name, scenario: one }))),
    outages: names.includes('outage') ? outages : [],
  };
}
