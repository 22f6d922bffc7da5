import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadedSettings, loadSettings, SettingsError } from '../../../src/config/load.ts';

type Environment = Readonly<Record<string, string>>;

/** The only required setting. */
export const REQUIRED: Environment = { UPSTREAM_URL: 'http://indexer:8081' };

/**
 * Loads settings from an environment and, if given, from a file with this content: a string as it is, anything else as
 * JSON.
 */
export function load(environment: Environment, file?: unknown): LoadedSettings {
  if (file === undefined) return loadSettings(environment);
  const folder = mkdtempSync(join(tmpdir(), 'toncache-config-'));
  try {
    const path = join(folder, 'toncache.json');
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file));
    return loadSettings({ ...environment, CONFIG_FILE: path });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The problems of these settings; empty if they are valid. */
export function problemsOf(environment: Environment, file?: unknown): readonly string[] {
  try {
    load(environment, file);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
