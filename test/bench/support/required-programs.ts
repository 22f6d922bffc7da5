import { pathOf } from '../../support/apt.ts';

/** The Debian package that holds each program. */
const PACKAGES = { nginx: 'nginx-light', varnishd: 'varnish', wrk: 'wrk', taskset: 'util-linux' };

/** The path of a program. Throws with the package to install when it is not there. */
export function findProgram(name: keyof typeof PACKAGES): string {
  const path = pathOf(name);
  if (path !== undefined) return path;
  throw new Error(`${name} is not installed. On Debian or Ubuntu: apt-get install ${PACKAGES[name]}`);
}
