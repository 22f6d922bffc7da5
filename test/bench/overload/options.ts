import { parseArgs } from 'node:util';
import { listed } from '../support/arguments.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

/** The server under load: toncache with its defaults, or nginx with a limit for each address in front of toncache. */
const MODES = ['shipped', 'nginx'] as const;

/** One scenario in one mode. */
export interface Trial {
  readonly mode: (typeof MODES)[number];
  readonly scenario: Scenario;
}

/** Reads `--mode`, `--scenario`, `--loads` (multiples of the capacity) and `--seconds`. Throws for other options. */
export function readOptions(args: string[]) {
  const { mode, scenario, ...more } = parseArgs({
    args,
    options: {
      mode: { type: 'string' },
      scenario: { type: 'string' },
      loads: { type: 'string', default: '0.5,5,10' },
      seconds: { type: 'string', default: '8' },
    },
  }).values;
  const modes = listed('--mode', mode, MODES, ['shipped']);
  const [loads, seconds] = [more.loads.split(',').map(Number), Number(more.seconds)];
  const kinds = Object.keys(SCENARIOS) as (keyof typeof SCENARIOS)[];
  const simulated = ['newcomers', 'delayed-bursts'] as const;
  const names = listed('--scenario', scenario, [...kinds, ...simulated, 'outage'], [...kinds, ...simulated]);
  const scenarios = kinds
    .filter((kind) => names.includes(kind))
    .flatMap((kind): readonly Scenario[] => SCENARIOS[kind](loads, seconds));
  const trials = scenarios.flatMap((one) => modes.map((name): Trial => ({ mode: name, scenario: one })));
  return {
    trials,
    measuresOutages: names.includes('outage'),
    simulatesNewcomers: names.includes('newcomers'),
    simulatesDelayedBursts: names.includes('delayed-bursts'),
  };
}
