import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { adminUrlOf } from '../config/http-settings.ts';
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/schema.ts';
import { type Context, UsageError } from './command.ts';

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
export function wholeNumber(name: string, text: string | undefined, minimum: number, maximum: number): number {
  const value = /^[0-9]+$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw new UsageError(
    `${name} ${text === undefined ? 'is missing' : 'is not valid'}; accepted: ${minimum} to ${maximum}`,
  );
}

/** An http(s) address without a path; `undefined` when it is not given. Throws a {@link UsageError} naming the option. */
function baseUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '') {
    return url.origin;
  }
  throw new UsageError(`${name} is not valid; accepted: an address like http://127.0.0.1:9464`);
}

/**
 * The settings for a command that asks a running toncache. They are read as toncache itself reads them, except that
 * `UPSTREAM_URL` may be missing. Throws a `SettingsError`.
 */
export function readSettings({ env }: Context): Settings {
  return loadSettings({ ...env, UPSTREAM_URL: env['UPSTREAM_URL'] || 'http://127.0.0.1' }).settings;
}

/** The address of the admin port: the given one, or that of the settings. */
export function adminUrl(given: string | undefined, settings: Settings): string {
  return baseUrl('--admin', given) ?? adminUrlOf(settings.http);
}
