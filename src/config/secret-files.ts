import type { Environment } from './setting-source.ts';
import { textOf, unreadable } from './text-file.ts';
import type { SettingMeta } from './values.ts';

/** The environment with the values that were read from files. */
export interface WithSecretFiles {
  readonly environment: Environment;
  /** The variable that the operator has set for this one: itself, or the one that names a file. */
  readonly nameOf: (variable: string) => string;
  /** The variables whose files have no value. */
  readonly unread: ReadonlySet<string>;
  readonly problems: readonly string[];
}

/**
 * The variable that names a file with the value of a setting, as Docker and Kubernetes mount secrets: `ADMIN_TOKEN_FILE`
 * for `ADMIN_TOKEN`. `undefined` for a setting that never holds a secret.
 */
export function fileVariableOf({ env, envOnly, mayHoldSecret }: Omit<SettingMeta, 'description'>): string | undefined {
  return env !== undefined && (envOnly || mayHoldSecret) ? `${env}_FILE` : undefined;
}

/**
 * Reads the files that variables such as `ADMIN_TOKEN_FILE` name, and drops one line break at the end of each. The
 * problems contain neither a path, which may be a secret in the wrong variable, nor the text of a file.
 */
export function withSecretFiles(
  environment: Environment,
  settings: readonly Omit<SettingMeta, 'description'>[],
): WithSecretFiles {
  const read = new Map<string, string>();
  const named = new Map<string, string>();
  const unread = new Set<string>();
  const problems: string[] = [];
  for (const setting of settings) {
    const [variable, fileVariable] = [setting.env, fileVariableOf(setting)];
    const path = fileVariable && environment[fileVariable];
    if (!variable || !fileVariable || !path) continue;
    if (environment[variable]) {
      problems.push(`${fileVariable}: must not be set together with ${variable}`);
      continue;
    }
    const value = valueIn(path);
    if (typeof value === 'string') {
      read.set(variable, value);
      named.set(variable, fileVariable);
    } else {
      unread.add(variable);
      problems.push(`${fileVariable}: must name a file with the value of ${variable}, in UTF-8: it ${value.why}`);
    }
  }
  return {
    environment: { ...environment, ...Object.fromEntries(read) },
    nameOf: (variable) => named.get(variable) ?? variable,
    unread,
    problems,
  };
}

function valueIn(path: string): string | { readonly why: string } {
  try {
    const value = textOf(path).replace(/\r?\n$/, '');
    return value === '' ? { why: 'is empty' } : value;
  } catch (error) {
    return { why: unreadable(error) };
  }
}
