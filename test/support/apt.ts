import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Debian's folders of programs for administrators, which are not always on PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

/** The path of a program, on PATH or in Debian's folders for administrators; undefined if it is missing. */
export function pathOf(program: string): string | undefined {
  return [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS]
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

/** True if a package can be installed: as root, on Debian or a derivative. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

/** Installs a package without its recommendations, announced on stderr. Rejects if that fails. */
export async function installPackage(name: string, why: string): Promise<void> {
  const command = ['install', '--yes', '--no-install-recommends', name];
  process.stderr.write(`${why}: running "apt-get ${command.join(' ')}".\n`);
  try {
    await apt(command);
  } catch {
    // On a fresh machine the package lists are missing or out of date.
    await apt(['update']);
    await apt(command);
  }
}

/**
 * The path of a program in a Debian package; installs the package if it is missing and can be installed. Rejects with
 * the package's name if it cannot.
 */
export async function debianProgram(program: string, packageName: string): Promise<string> {
  let cause: unknown;
  if (pathOf(program) === undefined && canInstall()) {
    cause = await installPackage(packageName, `No ${program} here`).catch((error: unknown) => error);
  }
  const path = pathOf(program);
  if (path !== undefined) return path;
  throw new Error(`${program} is needed: install it (Debian, Ubuntu: apt-get install ${packageName}).`, {
    cause,
  });
}

function apt(args: readonly string[]): Promise<unknown> {
  return run('apt-get', ['--quiet', '--option', 'DPkg::Lock::Timeout=120', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}
