import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/schema.ts';
import { duration } from '../config/values.ts';
import { type Context, UnavailableError, UsageError } from './command.ts';

/** Reads arguments strictly: throws a {@link UsageError} for an unknown option and for one that is given twice. */
export function readOptions<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Throws a {@link UsageError} if there are arguments beside the options. */
export function expectNoMore(positionals: readonly string[]): void {
  const [first] = positionals;
  if (first !== undefined) throw new UsageError(`"${first}" is not expected here`);
}

/** A whole number in digits. Throws a {@link UsageError} that names the option. */
export function wholeNumber(name: string, text: string, minimum: number, maximum: number): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new UsageError(`${name} is not valid; accepted: ${minimum} to ${maximum}`);
}

/**
 * The settings for a command that asks a running toncache. They are read as toncache itself reads them, except that
 * `UPSTREAM_URL` may be missing. Throws a `SettingsError`.
 */
export function readSettings({ env }: Context): Settings {
  return loadSettings({ ...env, UPSTREAM_URL: env['UPSTREAM_URL'] || 'http://127.0.0.1' }).settings;
}

/** A duration like `50ms` in milliseconds. Throws a {@link UsageError} that names the option. */
export function durationOf(name: string, text: string, minimum: string, maximum: string): number {
  const parsed = duration(minimum, maximum).safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`${name} ${parsed.error.issues[0]?.message}`);
}

/** Loads modules that only a checkout has. Rejects with an {@link UnavailableError} where they are missing. */
export async function fromCheckout<T>(what: string, command: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UnavailableError(
      `${what} is not part of the installed package: run "npm ci && ${command}" in a checkout of the repository`,
    );
  }
}
