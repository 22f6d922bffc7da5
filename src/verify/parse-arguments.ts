import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface VerifyOptions {
  /** The indexer's address as it was given, not validated. */
  readonly url: string;
  /** Requests to the indexer per second. */
  readonly rate: number;
  /** How many blocks, transactions and accounts are looked at. */
  readonly samples: number;
}

/** A command line that cannot be followed; its message says what is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = 'usage: npm run verify -- https://indexer.example/api/v3 [--rate 1] [--samples 5]';

/** Reads the arguments after the program's name. Throws a {@link UsageError}. */
export function parseArguments(args: readonly string[]): VerifyOptions {
  const { values, positionals } = parse(args);
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new UsageError('one address of an indexer is expected');
  return {
    url,
    rate: numberIn('--rate', values.rate, 0.01, 1000),
    samples: Math.round(numberIn('--samples', values.samples, 1, 100)),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { rate: { type: 'string', default: '1' }, samples: { type: 'string', default: '5' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function numberIn(name: string, text: string, minimum: number, maximum: number): number {
  const value = /^[0-9.]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new UsageError(`${name} must be a number from ${minimum} to ${maximum}`);
}
