import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface VerifyOptions {
  /** The indexer's address as it was given, not validated. */
  readonly url: string;
  /** Requests to the indexer per second. */
  readonly rate: number;
  /** How many blocks, transactions and accounts are asked for. */
  readonly samples: number;
}

/** An invalid command line; the message says what is wrong. */
export class VerifyUsageError extends Error {
  override readonly name = 'VerifyUsageError';
}

export const USAGE = 'usage: toncache verify https://indexer.example/api/v3 [--rate 1] [--samples 5]';

/** The exit codes of the process. Those above 1 are from sysexits.h. */
export const EXIT_CODES = { right: 0, violation: 1, usage: 64, unavailable: 69, incomplete: 75 } as const;

export const HELP = `${USAGE}

Asks an indexer through toncache, which runs in this process, and compares the answers with the indexer's own. Only
reads, and never asks faster than --rate. UPSTREAM_API_KEY is the key of the indexer. In a
checkout: npm run verify -- <address>.

  --rate     requests to the indexer per second, 0.01 to 1000 (1)
  --samples  how many blocks, transactions and accounts are looked at, 1 to 100 (5)

exit codes:
  ${EXIT_CODES.right}   all was checked, and is right
  ${EXIT_CODES.violation}   an answer is wrong
  ${EXIT_CODES.usage}  the command line is wrong
  ${EXIT_CODES.unavailable}  the indexer cannot be reached, or refuses the key
  ${EXIT_CODES.incomplete}  nothing is wrong, but not all could be checked: the last lines say what and why`;

/** Reads the arguments after the program's name. Throws a {@link VerifyUsageError}. */
export function parseArguments(args: readonly string[]): VerifyOptions | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new VerifyUsageError('one address of an indexer is expected');
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
      options: {
        rate: { type: 'string', default: '1' },
        samples: { type: 'string', default: '5' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new VerifyUsageError(error instanceof Error ? error.message : String(error));
  }
}

function numberIn(name: string, text: string, minimum: number, maximum: number): number {
  const value = /^[0-9.]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new VerifyUsageError(`${name} must be a number from ${minimum} to ${maximum}`);
}
