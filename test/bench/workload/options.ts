import { parseArgs } from 'node:util';
import { MODES, type ModeName } from './modes.ts';

/** What is run. */
export interface Options {
  readonly modes: readonly ModeName[];
  /** How much of the hour is run, in each mode. */
  readonly seconds: number;
  readonly seed: string;
  /** See `sessionsOfHour`. */
  readonly crowd: number;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const SECONDS = 40;
/** Less than what is left of the hour after the slice begins. */
const MOST_SECONDS = 1500;
const CROWD = 2;
const LARGEST_CROWD = 20;

export const USAGE = `usage: npm run bench:workload -- [options]
  --modes direct,nginx,Varnish,toncache (all)
  --stream also runs toncache with STREAM_URL, the streaming API of the simulated indexer
  --seconds ${SECONDS} (${SECONDS}) of the hour, in each mode
  --crowd ${CROWD} (${CROWD}) clients wait for one trace, on average; the more, the more a cache can share
  --seed 1 (1): same seed, same hour`;

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: string[]): Options {
  const given = valuesOf(args);
  const seconds = integer('--seconds', given.seconds, SECONDS, MOST_SECONDS);
  const crowd = integer('--crowd', given.crowd, CROWD, LARGEST_CROWD);
  const plain = MODES.filter((mode) => mode !== 'toncache, stream');
  const modes = given.modes?.split(',').map((name) => modeNamed(name, plain)) ?? plain;
  return { modes: given.stream ? [...modes, 'toncache, stream'] : modes, seconds, crowd, seed: given.seed ?? '1' };
}

function integer(option: string, text: string | undefined, usual: number, most: number): number {
  const value = Number(text ?? usual);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(`${option} accepts an integer from 1 to ${most}`);
}

function modeNamed(name: string, modes: readonly ModeName[]): ModeName {
  const found = modes.find((mode) => mode.toLowerCase() === name.toLowerCase());
  if (found === undefined) throw new UsageError(`--modes accepts ${modes.join(', ')}, separated by commas`);
  return found;
}

function valuesOf(args: string[]) {
  const type = 'string' as const;
  try {
    const stream = { type: 'boolean', default: false } as const;
    return parseArgs({ args, options: { modes: { type }, seconds: { type }, seed: { type }, crowd: { type }, stream } })
      .values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
