import { parseArgs } from 'node:util';
import { MODES, type Mode } from './modes.ts';
import { SCENARIO_KINDS, type Scenario, type ScenarioKind, scenariosOf } from './scenarios.ts';

/** One scenario in one mode. */
export interface Trial {
  readonly mode: Mode;
  readonly scenario: Scenario;
}

export interface Options {
  /** In this order: one mode after the other, so that they share what else the machine does at the time. */
  readonly trials: readonly Trial[];
  /** How long the outages last that are measured, in seconds; none unless they are asked for. */
  readonly outages: readonly number[];
  /** Whether all that the chart shows is measured, for as long as usual. */
  readonly isWhole: boolean;
}

/** What the command line does not say well; the message tells why. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const LOADS: readonly number[] = [0.5, 1, 2, 5, 10];
const SECONDS = 8;
/** The chain has enough to ask for as long as this at the highest load. */
const MOST_SECONDS = 30;
const HIGHEST_LOAD = 10;
const OUTAGE = 'outage';
const LONGEST_OUTAGE = 600;
const OUTAGES: readonly number[] = [10, 36, 75];
const KINDS: readonly ScenarioKind[] = SCENARIO_KINDS.filter(
  (kind) => !['spike', 'wallets', 'greedy', 'backfill'].includes(kind),
);

/** What can be said, by example and with what holds without it. */
export const USAGE = `usage: npm run bench:overload -- [options]
  --mode ${MODES.map(({ name }) => name).join(',')} (those that a scenario is there to compare)
  --scenario ${SCENARIO_KINDS.join(',')},${OUTAGE} (${KINDS.join(',')})
  --loads 1,5 (${LOADS.join(',')}), in multiples of what the indexer can answer
  --seconds 8 (${SECONDS}), for which each load lasts
  --outages 10 (${OUTAGES.join(',')}), in seconds`;

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: string[]): Options {
  const given = valuesOf(args);
  const seconds = given.seconds === undefined ? SECONDS : number('--seconds', given.seconds, MOST_SECONDS);
  const loads = given.loads?.split(',').map((load) => number('--loads', load, HIGHEST_LOAD)) ?? LOADS;
  const names = given.scenario?.split(',');
  const kinds = names
    ?.filter((name) => name !== OUTAGE)
    .map((name) => named('--scenario', name, SCENARIO_KINDS, (kind) => kind));
  const modes = given.mode?.split(',').map((name) => named('--mode', name, MODES, (mode) => mode.name));
  const outages = given.outages?.split(',').map((outage) => number('--outages', outage, LONGEST_OUTAGE)) ?? OUTAGES;
  return {
    outages: names?.includes(OUTAGE) === true ? outages : [],
    trials: (kinds ?? KINDS).flatMap((kind) => {
      const compared = modes ?? MODES.filter(({ comparedIn }) => comparedIn.includes(kind));
      return scenariosOf(kind, loads, seconds).flatMap((scenario) => compared.map((mode) => ({ mode, scenario })));
    }),
    isWhole: modes === undefined && loads === LOADS && seconds >= SECONDS && (kinds ?? KINDS).includes('steady'),
  };
}

function valuesOf(args: string[]) {
  const type = 'string' as const;
  try {
    const options = { mode: { type }, scenario: { type }, loads: { type }, seconds: { type }, outages: { type } };
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function number(option: string, text: string, most: number): number {
  const value = Number(text);
  if (value > 0 && value <= most) return value;
  throw new UsageError(`${option}: ${text} is no number above 0 and up to ${most}`);
}

function named<T>(option: string, name: string, all: readonly T[], nameOf: (one: T) => string): T {
  const found = all.find((one) => nameOf(one) === name);
  if (found === undefined) throw new UsageError(`${option}: ${name} is none of ${all.map(nameOf).join(', ')}`);
  return found;
}
