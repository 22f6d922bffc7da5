import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import { isLoopback } from '../../loopback.ts';

export interface AdminGuardOptions {
  /** The bearer token that a request must bring. Without a token, only a port on loopback answers. */
  readonly token: string | undefined;
  /** Where the admin port listens: an address or a name. */
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
 * Says why a request may not change something through the admin port, or see what is cached; `undefined` when it may.
 * Refuses what comes without the token. Where no token is set, the port must be on loopback and be asked as an address
 * or as `localhost`: another `Host` gives away a web page whose own name was pointed at this address (DNS rebinding).
 * `Origin` and `Sec-Fetch-Site` give away any other page. POSTs, which alone change something, must be JSON: a form cannot
 * send JSON without a preflight, and preflights are not answered.
 */
export function guardAdmin({ token, listensOn }: AdminGuardOptions): (request: IncomingMessage) => Refused | undefined {
  const isOnLoopback = isLoopback(listensOn);
  return (request) => {
    const { host = '', origin, authorization, 'sec-fetch-site': site, 'content-type': type } = request.headers;
    if (origin !== undefined && originHost(origin) !== host.toLowerCase()) {
      return { status: 403, error: 'requests of other origins are not accepted' };
    }
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return { status: 403, error: 'requests of other sites are not accepted' };
    }
    if (token !== undefined && !isBearer(authorization, token)) {
      return {
        status: 401,
        error: 'accepted: Authorization: Bearer with the value of ADMIN_TOKEN',
        headers: ['WWW-Authenticate', 'Bearer'],
      };
    }
    if (token === undefined && !isOnLoopback) {
      return { status: 403, error: 'the admin port does not listen on loopback: set ADMIN_TOKEN, and send it' };
    }
    if (token === undefined && !needsNoDns(request)) {
      return {
        status: 421,
        error: 'this Host is accepted with ADMIN_TOKEN only; without it: an IP address or localhost',
      };
    }
    if (request.method === 'POST' && !isJson(type)) {
      return { status: 415, error: 'accepted: Content-Type: application/json' };
    }
    return undefined;
  };
}

/** Whether a request names its host once, and as an address or `localhost`. */
function needsNoDns({ headers, headersDistinct, url }: IncomingMessage): boolean {
  const [, v6 = '', name = ''] = HOST.exec(headers.host?.toLowerCase() ?? '') ?? [];
  const isOne = headersDistinct['host']?.length === 1 && url?.startsWith('/') === true;
  return isOne && (isIPv6(v6) || isIPv4(name) || name === 'localhost');
}

/** The host of an origin as browsers write it: without the default port of its scheme. */
function originHost(origin: string): string | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.host : undefined;
}

/** Compares in constant time, so that the time reveals nothing of the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:;|$)/i.test(contentType ?? '');
}
