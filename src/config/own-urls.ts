import { isIPv6 } from 'node:net';
import type { Settings } from './schema.ts';

/** The URL at which a client on the same machine reaches the admin port of a process with these settings. */
export function adminUrlOf({ adminHost, adminPort }: Settings['http']): string {
  return `http://${reachable(adminHost)}:${adminPort}`;
}

/** A wildcard address such as 0.0.0.0 can only be listened on, so loopback is asked instead. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (/^[0:]+$/.test(host)) return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}
