import { parseArgs } from 'node:util';
import { SIZES_KB } from '../sized-calls.ts';
import { KINDS, type Kind } from './cases.ts';

/** What is compared, how often and for how long. */
export interface Options {
  readonly kinds: readonly Kind[];
  readonly sizesKb: readonly number[];
  readonly rounds: number;
  /** Length of one load. */
  readonly seconds: number;
  /** Folders of toncache, or commands that start it. Ratios are relative to the first. */
  readonly toncaches: readonly string[];
  /** Print every sample as JSON instead of tables of medians. */
  readonly json: boolean;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const ROUNDS = 3;
const SECONDS = 3;

export const USAGE = `usage: npm run bench:peers -- [options]
  --only ${KINDS.join(',')} (all)
  --sizes ${SIZES_KB.join(',')} (all), in KB
  --rounds 3 (${ROUNDS}); figures are medians over the rounds
  --seconds 3 (${SECONDS}), for which each load lasts
  --toncache <folder or command> (this one), given once for each to compare; a command gets PORT and UPSTREAM_URL in its environment
  --json prints all figures as JSON`;

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: string[], thisFolder: string): Options {
  const given = valuesOf(args);
  return {
    kinds: given.only?.split(',').map((name) => oneOf('--only', name, KINDS)) ?? KINDS,
    sizesKb: given.sizes?.split(',').map((size) => oneOf('--sizes', Number(size), SIZES_KB)) ?? SIZES_KB,
    rounds: count('--rounds', given.rounds, ROUNDS),
    seconds: count('--seconds', given.seconds, SECONDS),
    toncaches: given.toncache ?? [thisFolder],
    json: given.json,
  };
}

function valuesOf(args: string[]) {
  const type = 'string' as const;
  try {
    return parseArgs({
      args,
      options: {
        only: { type },
        sizes: { type },
        rounds: { type },
        seconds: { type },
        toncache: { type, multiple: true },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function oneOf<T>(option: string, value: unknown, all: readonly T[]): T {
  const found = all.find((one) => one === value);
  if (found === undefined) throw new UsageError(`${option} accepts ${all.join(', ')}, separated by commas`);
  return found;
}

function count(option: string, text: string | undefined, usual: number): number {
  const value = Number(text ?? usual);
  if (Number.isInteger(value) && value >= 1 && value <= 1000) return value;
  throw new UsageError(`${option} accepts an integer from 1 to 1000`);
}
