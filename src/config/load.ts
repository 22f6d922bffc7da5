import { resolve } from 'node:path';
import { z } from 'zod';
import { isObject, type JsonObject } from '../json-object.ts';
import { didYouMean, nearestTo } from './nearest-name.ts';
import { type Settings, settingsSchema } from './schema.ts';
import { fileVariableOf, type WithSecretFiles, withSecretFiles } from './secret-files.ts';
import { type Environment, type Setting, type Sourced, setAt, sourceOf, valueAt } from './setting-source.ts';
import { textOf, unreadable } from './text-file.ts';
import type { SettingMeta } from './values.ts';
import { misspelt, warningsOf } from './warnings.ts';

/**
 * Invalid settings: all problems at once, each with the name of its setting, then the misspelt variables that may be
 * their cause.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** The loaded settings, with notes for the operator. */
export interface LoadedSettings {
  readonly settings: Settings;
  /** Notes for the operator about valid settings. */
  readonly warnings: readonly string[];
  /** Every setting with its original text, in the order of the schema. */
  readonly sources: readonly Sourced[];
}

/**
 * Reads the settings: defaults, then the JSON file in `CONFIG_FILE`, then the environment. Throws a {@link
 * SettingsError}; its problems never contain the value of a secret or of a URL.
 */
export function loadSettings(variables: Environment): LoadedSettings {
  const problems: string[] = [];
  const secrets = withSecretFiles(withoutLineEnds(variables), SETTINGS);
  const { environment } = secrets;
  const inFile = readFile(environment['CONFIG_FILE'], problems);
  const isFileRead = problems.length === 0;
  problems.push(...secrets.problems);
  // `upstream` has a required member, so it has no default of its own.
  const given = { upstream: {}, ...structuredClone(inFile) };
  for (const { env, envOnly, path } of SETTINGS) {
    if (envOnly && valueAt(inFile, path) !== undefined) {
      problems.push(`${path.join('.')}: is a secret and comes from the environment only (${env})`);
    }
    const value = env === undefined ? undefined : environment[env];
    if (value !== undefined && value !== '') setAt(given, path, value);
  }
  const parsed = settingsSchema.safeParse(given);
  for (const issue of parsed.error?.issues ?? []) {
    // An unreadable file may contain the setting that seems to be missing.
    problems.push(...describe(issue, given, secrets).filter((problem) => isFileRead || !problem.endsWith(REQUIRED)));
  }
  const known = ['CONFIG_FILE', ...SETTINGS.flatMap((each) => [each.env ?? [], fileVariableOf(each) ?? []].flat())];
  if (parsed.data === undefined || problems.length > 0) {
    // A misspelt name may be the cause of a missing setting.
    throw new SettingsError([...new Set([...problems, ...misspelt(environment, known)])]);
  }
  const settings = parsed.data;
  const sources = SETTINGS.map((setting) => sourceOf(setting, environment, inFile, secrets.nameOf));
  return { settings, sources, warnings: warningsOf({ settings, sources }, environment, known) };
}

const REQUIRED = 'is required';

/** A secret that was made from a file often ends in a line break, which is not part of any value. */
function withoutLineEnds(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value?.replace(/[\r\n]+$/, '')]));
}

/** Every setting of the schema, in its order. */
export const SETTINGS = settingsIn(settingsSchema, []).filter(({ path }) => path[0] !== '$schema');

function settingsIn(schema: z.ZodType, path: readonly string[]): Setting[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([name, child]) => settingsIn(child as z.ZodType, [...path, name]));
  }
  const meta = schema.meta() as SettingMeta | undefined;
  return [{ description: '', ...meta, path, schema }];
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodPrefault ? unwrap(schema.unwrap() as z.ZodType) : schema;
}

/** Reads the file's object. Adds problems with the file to `problems`, without its text, which may contain a secret. */
function readFile(path: string | undefined, problems: string[]): JsonObject {
  if (path === undefined || path === '') return {};
  try {
    const parsed: unknown = JSON.parse(textOf(path));
    if (isObject(parsed)) return parsed;
    problems.push(`CONFIG_FILE: ${path} must hold a JSON object`);
  } catch (error) {
    problems.push(`CONFIG_FILE: ${resolve(path)} ${error instanceof SyntaxError ? notJson(error) : unreadable(error)}`);
  }
  return {};
}

/** The place where the text stops being JSON, without the text itself. */
function notJson({ message }: SyntaxError): string {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  return line === undefined ? 'is not JSON: it ends too early' : `is not JSON at line ${line}, column ${column}`;
}

function describe(
  issue: z.core.$ZodIssue,
  given: JsonObject,
  { environment, nameOf, unread }: Pick<WithSecretFiles, 'environment' | 'nameOf' | 'unread'>,
): string[] {
  // A problem with one item of a list is a problem of the setting.
  const path = issue.path.filter((name) => typeof name === 'string');
  if (issue.code === 'unrecognized_keys') {
    const siblings = SETTINGS.filter((setting) => path.every((name, depth) => setting.path[depth] === name));
    return issue.keys.map((key) => {
      const nearest = nearestTo(key, new Set(siblings.flatMap((setting) => setting.path[path.length] ?? [])));
      return `${[...path, key].join('.')}: is not a setting${didYouMean(nearest)}`;
    });
  }
  const inFile = path.join('.');
  const setting = SETTINGS.find((each) => each.path.join('.') === inFile);
  const env = setting?.env;
  const value = valueAt(given, path);
  const isGiven = value !== undefined;
  if (env !== undefined && unread.has(env)) return [];
  // A setting without a variable can only be in the file.
  const isInFile = isGiven && env !== undefined && !environment[env];
  // A rule of our own may be about a setting that has its default.
  const problem = !isGiven && issue.code !== 'custom' ? REQUIRED : wording(issue);
  const names = env === undefined ? inFile : `${nameOf(env)} (${inFile})`;
  const asWritten = `${isInFile ? inFile : (env ?? inFile)}=${JSON.stringify(value)}`;
  const subject = setting !== undefined && mayBeShown(setting, value) ? asWritten : names;
  return [`${subject}${isInFile ? ` in ${environment['CONFIG_FILE']}` : ''}: ${problem}`];
}

/**
 * True if a wrong value may be shown: it is that of a single setting, neither a secret nor a URL, which may contain a
 * key, and nothing in it looks like one of them.
 */
function mayBeShown({ path, envOnly }: Setting, value: unknown): boolean {
  if (envOnly || path.at(-1) === 'url') return false;
  if (typeof value === 'string') return !/:\/\/|@|[^/,\s]{32,}/.test(value);
  return value === null || typeof value === 'number' || typeof value === 'boolean';
}

/** The values of the schema state what is accepted; in these two cases zod's own text is replaced. */
function wording(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : issue.message;
}

const EXPECTED: Readonly<Record<string, string>> = {
  object: 'a group of settings in braces',
  string: 'text in quotes',
};
