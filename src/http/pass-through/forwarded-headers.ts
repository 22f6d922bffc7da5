import type { IncomingMessage } from 'node:http';
import { OPERATIONS } from '../../ton/operations.ts';

/** Header values by lower-case name. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The header lines of a request. Node's `headers` joins several lines of one name, which the indexer reads as one word. */
export type RequestLines = Pick<IncomingMessage, 'headers' | 'rawHeaders'>;

/** Headers about one connection (RFC 9110 7.6.1), and headers that only make sense on that connection. */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * The indexer has no sessions and chooses its own timeouts. Host, content length and request id are set anew. The last
 * ones name a method or path that this process has not checked.
 */
const NOT_FORWARDED = [
  ...['host', 'content-length', 'expect', 'cookie', 'x-timeout', 'x-request-id'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
  ...['x-original-url', 'x-rewrite-url'],
];

/**
 * The headers of a client that a backup gets: those about the form of request and answer, `traceparent` and
 * `User-Agent`. None of them contains a credential.
 */
const FOR_BACKUPS = new Set([
  ...['accept', 'accept-encoding', 'content-encoding', 'content-type', 'traceparent', 'user-agent'],
  ...[...OPERATIONS.values()].flatMap(({ headerNames }) => [...headerNames]),
]);

/** A port shared by many clients sets no cookies, and only this proxy sets headers about its origin. */
const NOT_RETURNED = [
  'set-cookie',
  'set-cookie2',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'access-control-max-age',
  'alt-svc',
  'cache-status',
  'clear-site-data',
  'strict-transport-security',
  'x-request-id',
];

/** A client's headers for the indexer, in the flat form, line by line; without its credentials if our API key is sent. */
export function forwardedHeaders(request: RequestLines, withOurKey = false): string[] {
  const dropped = droppedOf(request.headers, NOT_FORWARDED);
  const isCredential = (name: string) => name === 'authorization' || isKeyName(name);
  return linesOf(request, (name) => !dropped.has(name) && !(withOurKey && isCredential(name)));
}

/**
 * A client's headers for a backup, in the flat form, line by line. A backup belongs to another operator, so only known
 * headers are sent: a client may have credentials in headers of any name.
 */
export function headersForBackup(request: RequestLines): string[] {
  const dropped = droppedOf(request.headers, []);
  return linesOf(request, (name) => FOR_BACKUPS.has(name) && !dropped.has(name));
}

/** The indexer's headers for the client, in the flat form. */
export function returnedHeaders(headers: Headers): string[] {
  const dropped = droppedOf(headers, NOT_RETURNED);
  return Object.entries(headers).flatMap(([name, value]) =>
    dropped.has(name) ? [] : [value ?? []].flat().flatMap((item) => [name, item]),
  );
}

/** True if a client sends an API key: not blank, and not dropped because `Connection` names it. */
export function hasKeyHeader(headers: Headers): boolean {
  return !isBlankKey([headers['x-api-key'] ?? ''].flat().join()) && !droppedOf(headers, []).has('x-api-key');
}

/**
 * The same for a header with any name that some server may read as that of an API key ({@link isKeyName}). The indexer
 * reads only `X-Api-Key`.
 */
export function mayHaveKeyHeader({ headers }: RequestLines): boolean {
  const dropped = droppedOf(headers, []);
  return Object.entries(headers).some(
    ([name, value]) => isKeyName(name) && !isBlankKey([value ?? ''].flat().join()) && !dropped.has(name),
  );
}

/**
 * True if a header or parameter with this decoded name may be read as an API key: `api_key` in any case and
 * punctuation, with or without `x`, because servers differ in this.
 */
export function isKeyName(name: string): boolean {
  return /^x?apikey$/i.test(name.replace(/[^a-z]/gi, ''));
}

/** True if the value of an API key is empty: only blanks, and the commas between several of them. */
export function isBlankKey(value: string): boolean {
  return !/[^\s,]/.test(value);
}

/** The names of headers that are not passed on: those of one connection (RFC 9110 7.6.1), and these. */
function droppedOf(headers: Headers, names: readonly string[]): ReadonlySet<string> {
  const named = [headers['connection'] ?? []].flat().flatMap((value) => value.toLowerCase().split(','));
  return new Set([...HOP_BY_HOP, ...names, ...named.map((name) => name.trim())]);
}

/** Names in lower case and values, alternating. */
function linesOf({ rawHeaders }: RequestLines, isPassed: (name: string) => boolean): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (isPassed(name)) lines.push(name, rawHeaders[at + 1] ?? '');
  }
  return lines;
}
