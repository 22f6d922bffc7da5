import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A program that the bench starts, with the Debian package that holds it. */
interface Program {
  readonly name: string;
  readonly debianPackage: string;
  /** The flag that prints its version. */
  readonly versionFlag: string;
  /** Captures the version in that output. */
  readonly version: RegExp;
}

const PROGRAMS: readonly Program[] = [
  { name: 'nginx', debianPackage: 'nginx-light', versionFlag: '-v', version: /nginx\/(\S+)/ },
  { name: 'varnishd', debianPackage: 'varnish', versionFlag: '-V', version: /varnish-(\S+)/ },
  { name: 'wrk', debianPackage: 'wrk', versionFlag: '-v', version: /^wrk (\S+)/ },
  { name: 'taskset', debianPackage: 'util-linux', versionFlag: '-V', version: /([\d.]+)$/ },
  { name: 'redis-server', debianPackage: 'redis-server', versionFlag: '-v', version: /v=(\S+)/ },
];

/** A search path of the folders that distributions put servers in; often only root has them on PATH. */
export const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin'].join(delimiter);

/** A program that was found. */
export interface FoundProgram {
  readonly path: string;
  readonly version: string;
}

/** A required program is not installed; the message says which one and what to install. */
export class MissingPrograms extends Error {
  override readonly name = 'MissingPrograms';

  constructor(missing: readonly Program[]) {
    const packages = missing.map(({ debianPackage }) => debianPackage).join(' ');
    super(
      `not found: ${missing.map(({ name }) => name).join(', ')}. On Debian or Ubuntu: apt-get install ${packages}. The bench starts servers of its own; those that the packages start can be stopped.`,
    );
  }
}

/** Finds the programs on a search path (of the form of PATH). Rejects with {@link MissingPrograms}. */
export async function findPrograms(searchPath: string): Promise<ReadonlyMap<string, FoundProgram>> {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  const found = new Map<string, FoundProgram>();
  for (const program of PROGRAMS) {
    const path = await firstExecutable(folders.map((folder) => join(folder, program.name)));
    if (path !== undefined) found.set(program.name, { path, version: await versionOf(path, program) });
  }
  const missing = PROGRAMS.filter(({ name }) => !found.has(name));
  if (missing.length > 0) throw new MissingPrograms(missing);
  return found;
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not there: the next one.
    }
  }
  return undefined;
}

/** Reads standard error too, and ignores the exit code: `wrk -v` exits with 1. */
async function versionOf(path: string, { versionFlag, version }: Program): Promise<string> {
  const said = await run(path, [versionFlag]).catch((error: { stdout?: string; stderr?: string }) => error);
  return version.exec(`${said.stdout ?? ''}${said.stderr ?? ''}`.trim())?.[1] ?? 'unknown';
}
