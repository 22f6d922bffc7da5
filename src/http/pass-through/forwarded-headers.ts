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
 * The headers of a client that are passed on, in addition to {@link PASSED_KINDS} and its credentials: those about the
 * form of request and answer. All others stay here: they belong to the edge and the gateways in front of toncache, name
 * clients, or name a method or path that this process has not checked. Another edge refuses some of them.
 */
const PASSED: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'content-encoding', 'content-type'],
  ...['last-event-id', 'range', 'traceparent'],
  ...[...OPERATIONS.values()].flatMap(({ headerNames }) => [...headerNames]),
]);

/** Conditions, and the handshake of a WebSocket. */
const PASSED_KINDS = /^(?:if|sec-websocket)-/;

/**
 * The headers of a client that are passed on, in the flat form, line by line. Credentials are only for the indexer that
 * the client means: not for a backup, and not next to our own. `credentials`: those that are passed on; `key` leaves out
 * `Authorization`.
 */
export function clientHeaders(request: RequestLines, credentials: 'all' | 'key' | 'none'): string[] {
  const ofConnection = connectionHeaders(request.headers);
  const isPassed = (name: string) =>
    PASSED.has(name) ||
    PASSED_KINDS.test(name) ||
    (credentials !== 'none' && isKeyName(name)) ||
    (credentials === 'all' && name === 'authorization');
  return linesOf(request, (name) => isPassed(name) && !ofConnection.has(name));
}

/** True if a client sends an API key: not blank, and not dropped because `Connection` names it. */
export function hasKeyHeader(headers: Headers): boolean {
  return !isBlankKey([headers['x-api-key'] ?? ''].flat().join()) && !connectionHeaders(headers).has('x-api-key');
}

/**
 * The same for a header with any name that some server may read as that of an API key ({@link isKeyName}). The indexer
 * reads only `X-Api-Key`.
 */
export function mayHaveKeyHeader({ headers }: Pick<RequestLines, 'headers'>): boolean {
  const ofConnection = connectionHeaders(headers);
  return Object.entries(headers).some(
    ([name, value]) => isKeyName(name) && !isBlankKey([value ?? ''].flat().join()) && !ofConnection.has(name),
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

/** The names of headers that are not passed on, because they belong to one connection (RFC 9110 7.6.1). */
export function connectionHeaders(headers: Headers): ReadonlySet<string> {
  const named = [headers['connection'] ?? []].flat().flatMap((value) => value.toLowerCase().split(','));
  return new Set([...HOP_BY_HOP, ...named.map((name) => name.trim())]);
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
