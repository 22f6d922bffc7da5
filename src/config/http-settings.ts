import { isIPv6 } from 'node:net';
import type { z } from 'zod';
import { isLoopback } from './loopback.ts';
import {
  duration,
  flag,
  group,
  headerValue,
  hostNames,
  integer,
  listenHost,
  origins,
  setting,
  size,
} from './values.ts';

/** The group `http`: the two ports, and the cost of clients. */
export const http = group({
  host: setting(listenHost.prefault('127.0.0.1'), 'The address on which the public port listens.', { env: 'HOST' }),
  port: setting(integer(0, 65_535).prefault(8080), 'The public port.', { env: 'PORT' }),
  reusePort: setting(
    flag.prefault(false),
    'If on, several processes on this machine can listen on the same public port, and the operating system distributes connections among them. Each process needs its own admin port.',
    { env: 'REUSE_PORT' },
  ),
  fastLane: setting(
    flag.prefault(true),
    "If on, toncache parses simple requests for cached operations itself, and leaves all others to Node's HTTP server, which needs 2.4 to 3.5 times as much CPU time for a hit. The responses are the same.",
  ),
  adminHost: setting(listenHost.prefault('127.0.0.1'), 'The address on which the admin port listens.', {
    env: 'ADMIN_HOST',
  }),
  adminPort: setting(
    integer(0, 65_535).prefault(9464),
    'The admin port. It serves the status page (`/`), `/healthz`, `/readyz`, `/metrics`, `POST /purge` and `GET /explain`.',
    { env: 'ADMIN_PORT' },
  ),
  adminToken: setting(
    headerValue.optional(),
    'The token that purge and explain requests must send as `Authorization: Bearer`. If it is not set, toncache refuses these requests unless the admin port listens on loopback.',
    { env: 'ADMIN_TOKEN', envOnly: true },
  ),
  adminAllowedHosts: setting(
    hostNames.optional(),
    'Comma-separated host names under which the admin port accepts requests for purge, explain and the live status. `localhost` and IP addresses are always accepted.',
    { env: 'ADMIN_ALLOWED_HOSTS' },
  ),
  allowedOrigins: setting(
    origins.optional(),
    'Comma-separated origins whose pages may read responses, such as `https://app.example`. `https://*.example.org` matches all hosts with one label in place of the star. Pages of other origins get no CORS headers, and get 403 for preflights, passed-through requests, streams and `runGetMethod`. toncache serves requests without `Origin`. If not set, pages of any origin may read responses.',
    { env: 'ALLOWED_ORIGINS' },
  ),
  maxHeaderSize: setting(
    size('1KiB', '1MiB').prefault('96KiB'),
    "Maximum size of the URL and headers of a client's request. Clients get 431 above it.",
  ),
  requestTimeout: setting(
    duration('100ms', '5min').prefault('10s'),
    'Time in which a client must send a request with its headers and body. After this time, the client gets 408.',
  ),
  keepAliveTimeout: setting(
    duration('1ms', '1h').prefault('65s'),
    "Time for which toncache keeps an idle client connection open. Set it above the load balancer's idle timeout.",
  ),
  maxConnections: setting(
    integer(1, 1_000_000).prefault(10_000),
    'Maximum number of open client connections. If the limit of open files is too low, toncache accepts fewer connections. It refuses further connections. Each connection has at most one waiting request.',
  ),
  sendTimeout: setting(
    duration('100ms', '1h').prefault('30s'),
    'Time in which a client must read each 16 KiB of its response, on average over up to 256 KiB. toncache disconnects slower clients. It disconnects a client that reads nothing of a large response after 16 times this value.',
  ),
  shutdownDelay: setting(
    duration('0ms', '5min').prefault('0ms'),
    'Time after SIGTERM in which the public port still accepts connections while `/readyz` already fails, so that load balancers stop sending requests. If clients are connected, toncache waits at least 250 ms. `drainTimeout` begins afterwards.',
  ),
  drainTimeout: setting(
    duration('100ms', '5min').prefault('7s'),
    'Time after SIGTERM and `shutdownDelay` in which requests in flight can end. After this time, their clients get 503.',
  ),
}).refine(({ host, port, adminHost, adminPort }) => port === 0 || port !== adminPort || !overlap(host, adminHost), {
  path: ['adminPort'],
  error: 'must not be that of PORT (http.port): one process cannot listen on it twice',
});

/** True if listening at one of these hosts uses the port at the other one. */
function overlap(host: string, other: string): boolean {
  return host === other || includes(host, other) || includes(other, host);
}

/** True if listening at `host` includes listening at `other`. `::` includes IPv4, as Node opens it. */
function includes(host: string, other: string): boolean {
  if (isUnspecified(host)) return isIPv6(host) || !isIPv6(other);
  return host.toLowerCase() === 'localhost' && isLoopback(other);
}

/** True if a host is `0.0.0.0` or `::`, in any spelling: all addresses of the machine. */
function isUnspecified(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

/** True if a URL leads to a port of the process with these settings, judged by its host. */
export function isOwnUrl({ host, port, adminHost, adminPort }: z.output<typeof http>, url: string): boolean {
  const { hostname, port: written, protocol } = new URL(url);
  const asked = hostname.replace(/^\[|\]$/g, '');
  const askedPort = Number(written || (protocol === 'https:' ? 443 : 80));
  // Only loopback addresses of the machine are known here.
  const isThere = (own: string) => own === asked || (isLoopback(asked) && overlap(own, asked));
  return (askedPort === port && isThere(host)) || (askedPort === adminPort && isThere(adminHost));
}

/** The URL at which a client on the same machine reaches the admin port of a process with these settings. */
export function adminUrlOf({ adminHost, adminPort }: z.output<typeof http>): string {
  return `http://${reachable(adminHost)}:${adminPort}`;
}

/**
 * The host in the form of a URL, by which this machine reaches a server that listens there. A wildcard address such as
 * 0.0.0.0 is only for listening, so it becomes loopback.
 */
export function reachable(host: string): string {
  if (isUnspecified(host)) return isIPv6(host) ? '[::1]' : '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}
