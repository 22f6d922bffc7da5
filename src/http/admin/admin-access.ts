import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import { isLoopback } from '../../config/loopback.ts';

export interface AdminAccessOptions {
  /**
   * The bearer token of requests that change something or see cached answers. If it is not set, the port accepts them
   * only on loopback.
   */
  readonly token: string | undefined;
  /** Host names in addition to `localhost` and IP literals, in lower case. */
  readonly allowedHosts: readonly string[] | undefined;
  /** The address or name on which the admin port listens. */
  readonly listensOn: string;
}

/** The answer to a refused request. */
interface Refused {
  readonly status: 401 | 403 | 415 | 421;
  readonly error: string;
  readonly headers?: readonly string[];
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/;

/**
 * Why a request may not read the admin port; `undefined` if it may. Keeps out web pages of other sites in a browser
 * that can reach this port: `Host` reveals a page whose own name was pointed at this address (DNS rebinding), `Origin`
 * and `Sec-Fetch-Site` reveal any other page.
 */
export function readingAccess(
  options: Pick<AdminAccessOptions, 'allowedHosts'>,
): (request: IncomingMessage) => Refused | undefined {
  const isOurName = (host: string) => isLiteral(host) || host === 'localhost' || options.allowedHosts?.includes(host);
  return (request) => {
    const { host = '', origin, 'sec-fetch-site': site } = request.headers;
    const name = nameOf(host);
    const isAmbiguous = (request.headersDistinct['host']?.length ?? 0) > 1 || !request.url?.startsWith('/');
    if (name === undefined || isAmbiguous || !isOurName(name)) {
      return {
        status: 421,
        error: 'this Host is not accepted; accepted: an IP address, localhost, or a name of ADMIN_ALLOWED_HOSTS',
      };
    }
    if (origin !== undefined && originHost(origin) !== host.toLowerCase()) {
      return { status: 403, error: 'requests of other origins are not accepted' };
    }
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return { status: 403, error: 'requests of other sites are not accepted' };
    }
    return undefined;
  };
}

/**
 * Why a request may not change something through the admin port, or see cached answers; `undefined` if it may. Refuses
 * everything that {@link readingAccess} refuses, and requests without the token; if no token is set, the port must be
 * on loopback. Only POSTs change something. They must be JSON: a form cannot send JSON without a preflight, and
 * preflights are not answered.
 */
export function adminAccess(options: AdminAccessOptions): (request: IncomingMessage) => Refused | undefined {
  const mayAskAnybody = options.token === undefined && isLoopback(options.listensOn);
  const refusedToRead = readingAccess(options);
  return (request) => {
    const refused = refusedToRead(request);
    if (refused !== undefined) return refused;
    if (options.token !== undefined && !isBearer(request.headers.authorization, options.token)) {
      return {
        status: 401,
        error: 'accepted: Authorization: Bearer with the value of ADMIN_TOKEN',
        headers: ['WWW-Authenticate', 'Bearer'],
      };
    }
    if (options.token === undefined && !mayAskAnybody) {
      return { status: 403, error: 'the admin port does not listen on loopback: set ADMIN_TOKEN, and send it' };
    }
    if (request.method === 'POST' && !isJson(request.headers['content-type'])) {
      return { status: 415, error: 'accepted: Content-Type: application/json' };
    }
    return undefined;
  };
}

/** The host without its port, IPv6 without brackets; `undefined` if it is malformed. */
function nameOf(host: string): string | undefined {
  const [, v6, name] = HOST.exec(host.toLowerCase()) ?? [];
  if (v6 !== undefined) return isIPv6(v6) ? v6 : undefined;
  return name;
}

function isLiteral(host: string): boolean {
  return isIPv4(host) || isIPv6(host);
}

/** The host of an origin in the browsers' form: without the default port of its scheme. */
function originHost(origin: string): string | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.host : undefined;
}

/** Compares in constant time, so that the time reveals nothing about the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:;|$)/i.test(contentType ?? '');
}
