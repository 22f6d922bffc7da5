import { parseArgs } from 'node:util';
import { MODES, type Mode } from './modes.ts';
import { SCENARIO_KINDS, type Scenario, scenariosOf } from './scenarios.ts';

export interface Options {
  readonly modes: readonly Mode[];
  readonly scenarios: readonly Scenario[];
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
const KIND = 'steady';

/** What can be said, by example and with what holds without it. */
export const USAGE = `usage: npm run bench:overload -- [options]
  --mode ${MODES.map(({ name }) => name).join(',')}
  --scenario ${SCENARIO_KINDS.join(',')} (${KIND})
  --loads 1,5 (${LOADS.join(',')}), in multiples of what the indexer can answer
  --seconds 8 (${SECONDS}), for which each load lasts`;

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: string[]): Options {
  const given = valuesOf(args);
  const seconds = given.seconds === undefined ? SECONDS : number('--seconds', given.seconds, MOST_SECONDS);
  const loads = given.loads?.split(',').map((load) => number('--loads', load, HIGHEST_LOAD)) ?? LOADS;
  const kinds = given.scenario?.split(',').map((name) => named('--scenario', name, SCENARIO_KINDS, (kind) => kind));
  const modes = given.mode?.split(',').map((name) => named('--mode', name, MODES, (mode) => mode.name));
  return {
    modes: modes ?? MODES,
    scenarios: (kinds ?? [KIND]).flatMap((kind) => scenariosOf(kind, loads, seconds)),
    isWhole: modes === undefined && loads === LOADS && seconds >= SECONDS && (kinds ?? [KIND]).includes(KIND),
  };
}

function valuesOf(args: string[]) {
  const type = 'string' as const;
  try {
    const options = { mode: { type }, scenario: { type }, loads: { type }, seconds: { type } };
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
