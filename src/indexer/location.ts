import type { IncomingHttpHeaders } from 'node:http';

/** The address that a request was sent to, and the part of its path that clients see otherwise. */
export interface AskedAddress {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The path, with the query. */
  readonly path: string;
  /** The path of the setting, without a slash at its end. It may contain a key. */
  readonly basePath: string;
  /** What clients request in its place. */
  readonly shownPath: string;
}

/** The headers of an answer for its client, and where it leads instead. */
export interface LocatedHeaders {
  readonly headers: IncomingHttpHeaders;
  /** The host that a redirect leads to, if its client must not get the address; `undefined` otherwise. */
  readonly leadsTo: string | undefined;
}

/** Where `Location` leads: to a path of this port, or to a host. */
type Led = { readonly path: string } | { readonly host: string };

/**
 * Replaces the `Location` of an answer by the path that its client may request here. A redirect to another origin, or to
 * a path outside the setting's path, has no such path. An answer that is no redirect loses the header.
 */
export function located(status: number, headers: IncomingHttpHeaders, asked: AskedAddress): LocatedHeaders {
  const { location: given, ...others } = headers;
  if (given === undefined) return { headers, leadsTo: undefined };
  const led = whereTo(given, asked);
  if ('path' in led) return { headers: { ...others, location: led.path }, leadsTo: undefined };
  return { headers: others, leadsTo: isRedirect(status) ? led.host : undefined };
}

/** The host that a redirect leads to, for operators; `undefined` for any other answer. */
export function redirectHost(status: number, location: string | undefined, origin: string): string | undefined {
  return isRedirect(status) && location !== undefined ? hostOf(URL.parse(location, origin)) : undefined;
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

const hostOf = (url: URL | null): string => (url === null || url.host === '' ? 'an invalid address' : url.host);

function whereTo(location: string, { origin, path, basePath, shownPath }: AskedAddress): Led {
  const url = URL.parse(location, origin + path);
  const isInside = url?.origin === origin && `${url.pathname}/`.startsWith(`${basePath}/`);
  if (url === null || !isInside) return { host: hostOf(url) };
  const shown = shownPath + url.pathname.slice(basePath.length);
  // A client would read the first part of such a path as a host.
  if (shown.startsWith('//')) return { host: hostOf(url) };
  return { path: `${shown || '/'}${url.search}${url.hash}` };
}
