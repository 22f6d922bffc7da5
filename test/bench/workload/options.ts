import { parseArgs } from 'node:util';
import { MODES, type ModeName } from './modes.ts';

/** What is run. */
export interface Options {
  readonly modes: readonly ModeName[];
  /** How much of the hour is run, in each mode. */
  readonly seconds: number;
  readonly seed: string;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const SECONDS = 45;
const MOST_SECONDS = 1500;

export const USAGE = `usage: npm run bench:workload -- [options]
  --modes direct,nginx,Varnish,toncache (all)
  --stream also runs toncache with STREAM_URL, the streaming API of the simulated indexer
  --seconds ${SECONDS} (${SECONDS}) of the hour, in each mode
  --seed 1 (1): same seed, same hour`;

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: string[]): Options {
  const given = valuesOf(args);
  const seconds = Number(given.seconds ?? SECONDS);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MOST_SECONDS) {
    throw new UsageError(`--seconds accepts an integer from 1 to ${MOST_SECONDS}`);
  }
  const plain = MODES.filter((mode) => mode !== 'toncache, stream');
  const modes = given.modes?.split(',').map((name) => modeNamed(name, plain)) ?? plain;
  return { modes: given.stream ? [...modes, 'toncache, stream'] : modes, seconds, seed: given.seed ?? '1' };
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
    return parseArgs({ args, options: { modes: { type }, seconds: { type }, seed: { type }, stream } }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
