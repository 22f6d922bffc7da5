import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { loadSettings } from '../config/load.ts';
import { didYouMean, nearestTo } from '../config/nearest-name.ts';
import type { Settings } from '../config/schema.ts';
import type { duration, integer, listenHost } from '../config/values.ts';
import { type Context, UsageError } from './command.ts';

/** Reads arguments strictly: throws a {@link UsageError} for an unexpected one. */
export function readOptions<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  allowPositionals = false,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals });
  } catch (error) {
    const unknown = unknownOption(args, options);
    if (unknown !== undefined) throw new UsageError(unknown);
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The problem with the first option that does not exist, without its value; `undefined` if all exist. */
function unknownOption(args: readonly string[], options: ParseArgsOptionsConfig): string | undefined {
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  const unknown = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(options, token.name));
  if (unknown?.kind !== 'option') return undefined;
  // `-json` is read as four options of a letter each.
  const [written = ''] = args[unknown.index]?.split('=') ?? [];
  const known = [...Object.keys(options), 'help'].map((name) => `--${name}`);
  const nearest = nearestTo(written, known);
  return `there is no option ${unknown.rawName}${didYouMean(nearest)}`;
}

/**
 * The settings for a command that talks to a running toncache. They are read as toncache itself reads them, except that
 * `UPSTREAM_URL` may be missing. Throws a `SettingsError`.
 */
export function readSettings({ env }: Context): Settings {
  const isGiven = env['UPSTREAM_URL'] || env['UPSTREAM_URL_FILE'];
  return loadSettings(isGiven ? env : { ...env, UPSTREAM_URL: 'http://127.0.0.1' }).settings;
}

type OptionType = ReturnType<typeof duration | typeof integer> | typeof listenHost;

/** The value of an option, in the form of a setting of this type. Throws a {@link UsageError} that names the option. */
export function optionOf<T extends OptionType>(name: string, text: string, type: T): T['_output'] {
  const parsed = type.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`${name} ${parsed.error.issues[0]?.message}`);
}
