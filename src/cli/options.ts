import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { loadSettings } from '../config/load.ts';
import { adminUrlOf } from '../config/own-urls.ts';
import type { Settings } from '../config/schema.ts';
import { type Context, UsageError } from './command.ts';

/** Reads arguments strictly: throws a {@link UsageError} for what is not among the options, or is given twice. */
export function readOptions<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Throws a {@link UsageError} unless there is nothing beside the options. */
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
export function baseUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '') {
    return url.origin;
  }
  throw new UsageError(`${name} is not valid; accepted: an address like http://127.0.0.1:9464`);
}

/**
 * The settings for a command that asks a running toncache: read as that one reads them, but the indexer's address may be
 * missing here, and does not count. Throws a `SettingsError`.
 */
export function readSettings({ env }: Context): Settings {
  return loadSettings({ ...env, UPSTREAM_URL: env['UPSTREAM_URL'] || 'http://127.0.0.1' }).settings;
}

/** Where the admin port is: the address that was given, or that of the settings. */
export function adminUrl(given: string | undefined, settings: Settings): string {
  return baseUrl('--admin', given) ?? adminUrlOf(settings.http);
}
