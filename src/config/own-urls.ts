import { isIPv6 } from 'node:net';
import type { Settings } from './schema.ts';

/** Where a port of this machine is asked, with the settings of the process that listens there. */
export function adminUrlOf({ adminHost, adminPort }: Settings['http']): string {
  return `http://${reachable(adminHost)}:${adminPort}`;
}

/** The same for the public port. */
export function publicUrlOf({ host, port }: Settings['http']): string {
  return `http://${reachable(host)}:${port}`;
}

/** An address that listens everywhere is no address to ask. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (/^[0:]+$/.test(host)) return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}
