import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isNested, type Nested, setAt, valueAt } from './nested.ts';
import { type Settings, settingsSchema } from './schema.ts';
import { type Environment, type Setting, type Sourced, sourceOf } from './setting-source.ts';
import type { SettingMeta } from './values.ts';

/** Invalid settings: all problems at once, each with the name of its setting. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** The loaded settings, and what an operator should know of them. */
export interface LoadedSettings {
  readonly settings: Settings;
  /** Whether no network is set, so that the default applies. */
  readonly networkIsAssumed: boolean;
  /** Every setting with its value as it was written, in the order of the schema. */
  readonly sources: readonly Sourced[];
}

/**
 * Reads the settings: defaults, then the JSON file that `CONFIG_FILE` names, then the environment. The result is
 * deep-frozen. Throws a {@link SettingsError}; its problems never hold a secret.
 */
export function loadSettings(environment: Environment): LoadedSettings {
  const problems: string[] = [];
  const given = readFile(environment['CONFIG_FILE'], problems);
  const inFile = structuredClone(given);
  for (const { env, envOnly, path } of listSettings()) {
    if (envOnly && valueAt(given, path) !== undefined) {
      problems.push(`${path.join('.')}: is a secret and comes from the environment only (${env})`);
    }
    const value = env === undefined ? undefined : environment[env];
    if (value !== undefined && value !== '') setAt(given, path, value);
  }
  const parsed = settingsSchema.safeParse(withGroups(given));
  for (const issue of parsed.error?.issues ?? []) problems.push(...describe(issue, given));
  if (parsed.data === undefined || problems.length > 0) throw new SettingsError(problems);
  const sources = listSettings().map((setting) => sourceOf(setting, environment, inFile));
  return { settings: deepFreeze(parsed.data), networkIsAssumed: given['network'] === undefined, sources };
}

let listed: readonly Setting[] | undefined;

/** Every setting of the schema, in its order. */
export function listSettings(): readonly Setting[] {
  listed ??= settingsOfSchema();
  return listed;
}

function settingsOfSchema(): Setting[] {
  const walk = (schema: z.ZodType, path: readonly string[]): Setting[] => {
    const inner = unwrap(schema);
    if (inner instanceof z.ZodObject) {
      return Object.entries(inner.shape).flatMap(([name, child]) => walk(child as z.ZodType, [...path, name]));
    }
    const meta = schema.meta() as SettingMeta | undefined;
    return [{ description: '', ...meta, path, schema }];
  };
  return walk(settingsSchema, []).filter(({ path }) => path[0] !== '$schema');
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodPrefault ? unwrap(schema.unwrap() as z.ZodType) : schema;
}

/**
 * Reads the file's object. Problems with the file are added to `problems`, without its text, which may hold a secret.
 */
function readFile(path: string | undefined, problems: string[]): Nested {
  if (path === undefined || path === '') return {};
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isNested(parsed)) return parsed;
    problems.push(`CONFIG_FILE: ${path} must hold a JSON object`);
  } catch (error) {
    problems.push(`CONFIG_FILE: ${path} ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`);
  }
  return {};
}

/** `upstream` has a required member, so it has no default of its own. */
function withGroups(given: Nested): Nested {
  return { upstream: {}, ...given };
}

function describe(issue: z.core.$ZodIssue, given: Nested): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${[...issue.path, key].join('.')}: is no setting`);
  }
  const path = issue.path.map(String);
  const env = listSettings().find((setting) => setting.path.join('.') === path.join('.'))?.env;
  const name = env === undefined ? path.join('.') : `${env} (${path.join('.')})`;
  return [`${name}: ${valueAt(given, path) === undefined ? 'is required' : issue.message}`];
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
