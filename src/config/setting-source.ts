import { z } from 'zod';
import { isObject, type JsonObject } from '../json-object.ts';
import { describeRedisUrl } from '../redis/redis-url.ts';
import { shownUrl } from './shown-url.ts';
import type { SettingMeta } from './values.ts';

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One setting of the schema, with its place. */
export interface Setting extends SettingMeta {
  readonly path: readonly string[];
  readonly schema: z.ZodType;
}

/** A setting with its original text, and the place of this text. */
export interface Sourced {
  /** Its place in the file, like `http.port`. */
  readonly name: string;
  /**
   * The original text, or the default; `undefined` without either. A secret is not shown, nor is a key in the path of a
   * URL.
   */
  readonly value: unknown;
  readonly from: 'default' | 'environment' | 'file';
  /** The variable, or the file. */
  readonly source: string | undefined;
}

/** The source of a setting: the environment overrides the file, the file overrides the default. */
export function sourceOf(
  { path, env, envOnly, schema }: Setting,
  environment: Environment,
  inFile: JsonObject,
  /** The variable that the operator has set for one: that of a secret may name a file. */
  nameOf: (variable: string) => string,
): Sourced {
  const name = path.join('.');
  const variable = env === undefined ? undefined : environment[env];
  if (env !== undefined && variable !== undefined && variable !== '') {
    const value = envOnly ? masked(name, variable) : withoutKeys(name, variable);
    return { name, value, from: 'environment', source: nameOf(env) };
  }
  const value = valueAt(inFile, path);
  if (value !== undefined) {
    return { name, value: withoutKeys(name, value), from: 'file', source: environment['CONFIG_FILE'] };
  }
  const byDefault = schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
  return { name, value: byDefault, from: 'default', source: undefined };
}

/** Shows a Redis URL without its password, and nothing of any other secret. */
function masked(name: string, value: string): string {
  return name === 'redis.url' ? describeRedisUrl(value) : '(secret)';
}

/** A value that is not a secret, with its URLs as they may be shown. */
function withoutKeys(name: string, value: unknown): unknown {
  if (!name.endsWith('.url') || typeof value !== 'string') return value;
  // Addresses of indexers are separated by commas, and a path may contain one.
  return value
    .split(/,(?=\s*https?:)/i)
    .map(shownUrl)
    .join();
}

/** The value at a path of names; `undefined` without one. */
export function valueAt(nested: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), nested);
}

/**
 * Puts a value at a path of names, and creates missing objects on the way. Does nothing if another value is in the way.
 */
export function setAt(nested: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    nested[name] = value;
    return;
  }
  if (nested[name] === undefined) nested[name] = {};
  const child = nested[name];
  // The cast: `isObject` finds read-only objects, and this one is a copy that is being filled.
  if (isObject(child)) setAt(child as Record<string, unknown>, rest, value);
}
