import { OPERATIONS } from '../../ton/operations.ts';

/** Header values by lower-case name. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers of one connection (RFC 9110 7.6.1), and those that only make sense with it. */
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
 * The indexer has no sessions and chooses its own timeouts. Host, content length and request id are set anew. A method or a
 * path that is not the request's was not checked here.
 */
const NOT_FORWARDED = [
  ...['host', 'content-length', 'expect', 'cookie', 'x-timeout', 'x-request-id'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
  ...['x-original-url', 'x-rewrite-url'],
];

/** What a backup gets of a client: what says how to answer, and nothing that says who asks. */
const FOR_BACKUPS = new Set([
  ...['accept', 'accept-encoding', 'content-encoding', 'content-type', 'traceparent', 'user-agent'],
  ...[...OPERATIONS.values()].flatMap(({ headerNames }) => [...headerNames]),
]);

/** A port shared by many clients sets no cookies, and headers about this origin are set by this proxy alone. */
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

/** A client's headers as they go to the indexer, in the flat form; without its credentials where our API key is sent. */
export function forwardedHeaders(headers: Headers, withOurKey = false): string[] {
  const dropped = droppedOf(headers, NOT_FORWARDED);
  const isCredential = (name: string) => name === 'authorization' || isKeyName(name);
  return flat(headers, (name) => !dropped.has(name) && !(withOurKey && isCredential(name)));
}

/**
 * A client's headers as they go to a backup, in the flat form. That is another operator's, so only what is known is sent: a
 * client may have credentials in headers of any name.
 */
export function headersForBackup(headers: Headers): string[] {
  const dropped = droppedOf(headers, []);
  return flat(headers, (name) => FOR_BACKUPS.has(name) && !dropped.has(name));
}

/** The indexer's headers as they go to the client, in the flat form. */
export function returnedHeaders(headers: Headers): string[] {
  const dropped = droppedOf(headers, NOT_RETURNED);
  return flat(headers, (name) => !dropped.has(name));
}

/** Whether a client sends an API key: one that is not blank, and that is not dropped because `Connection` names it. */
export function hasKeyHeader(headers: Headers): boolean {
  return !isBlankKey([headers['x-api-key'] ?? ''].flat().join()) && !droppedOf(headers, []).has('x-api-key');
}

/**
 * Whether a header or a parameter of this name, decoded, may be read as an API key: `api_key` in any case and punctuation,
 * with or without `x`, because servers differ in that.
 */
export function isKeyName(name: string): boolean {
  return /^x?apikey$/i.test(name.replace(/[^a-z]/gi, ''));
}

/** Whether the value of an API key names none: nothing but blanks, and the commas between several of them. */
export function isBlankKey(value: string): boolean {
  return !/[^\s,]/.test(value);
}

/** The names of headers that are not passed on: of one connection (RFC 9110 7.6.1), and these. */
function droppedOf(headers: Headers, names: readonly string[]): ReadonlySet<string> {
  const named = [headers['connection'] ?? []].flat().flatMap((value) => value.toLowerCase().split(','));
  return new Set([...HOP_BY_HOP, ...names, ...named.map((name) => name.trim())]);
}

function flat(headers: Headers, isPassed: (name: string) => boolean): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    isPassed(name) ? [value ?? []].flat().flatMap((item) => [name, item]) : [],
  );
}
