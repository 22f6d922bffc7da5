import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The Debian package that holds each program. */
const PACKAGES = { nginx: 'nginx-light', varnishd: 'varnish', wrk: 'wrk', taskset: 'util-linux' };

/** PATH, and the folders that distributions put servers in; often only root has them on PATH. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

/** The path of a program. Rejects with the package to install when it is not there. */
export async function findProgram(name: keyof typeof PACKAGES): Promise<string> {
  for (const folder of FOLDERS) {
    const path = join(folder, name);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new Error(`${name} is not installed. On Debian or Ubuntu: apt-get install ${PACKAGES[name]}`);
}
