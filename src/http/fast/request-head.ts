import { NAMING_HEADERS } from '../../clients/naming-headers.ts';
import { unsliced } from '../../sliced-strings.ts';
import { OPERATIONS, type Operation, type OperationsInUse } from '../../ton/operations.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { acceptsGzip } from '../parse-request.ts';
import { MOST_FIELDS } from '../public/framing.ts';

const BEGINNING = 'GET /api/v3/';
const VERSION = ' HTTP/1.1\r\n';
const HEAD_END = '\r\n\r\n';

/**
 * A field line of RFC 9112 5, without bytes above 7E. Node's parser accepts every such line and reads it in the same
 * way. The pattern matches the blanks around the value together with it: with a part of their own, the time for a line
 * without an end would grow with the square of its length.
 */
const FIELD = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e]*)\r\n/y;

/** The characters that RFC 3986 allows in a query, and the brackets of lists. */
const QUERY = /^[A-Za-z0-9\-._~!$&'()*+,;=:@/?%[\]]*$/;

/** Fields about the connection or a body that the fast lane does not handle. */
const NOT_UNDERSTOOD = new Set([
  'content-length',
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Request headers that change the answers of the operations. */
const OF_OPERATIONS = new Set([...OPERATIONS.values()].flatMap(({ headerNames }) => [...headerNames]));

/** Headers that are read and do not change the bytes of a hit, once `acceptsGzip` has chosen its coding. */
const PLAIN = new Set(['accept-encoding', ...NAMING_HEADERS, 'traceparent', 'x-request-id']);

/**
 * All headers that are read here or later. A request with one of them twice is left to Node, except for `Forwarded`:
 * proxies add a line each, and only its presence counts.
 */
const READ = new Set([...OF_OPERATIONS, ...PLAIN, 'if-none-match']);

/** The parts of a request's head; neither the target nor the fields are parsed yet. */
export interface RequestHead {
  /** The target without `/api/v3/`: the name of an {@link Operation} and its query. */
  readonly spelling: string;
  /** The field lines, each with its line end. */
  readonly fields: string;
  /** The beginning of the next request. */
  readonly end: number;
}

/** The header fields of a request, as the fast lane reads them. */
export interface RequestFields {
  readonly headers: RequestHeaders;
  /** True if the client gets gzip, by its `Accept-Encoding`. */
  readonly acceptsGzip: boolean;
  /** True if it comes from a page in a browser. */
  readonly hasOrigin: boolean;
  /** True if no field but `Accept-Encoding` changes the bytes of a hit. */
  readonly isPlain: boolean;
}

/**
 * Finds the head of a request that begins at `start` of a text (latin1). `incomplete`: it begins as a head for the
 * fast lane and has no end yet; `other`: it must go to Node's parser.
 */
export function readHead(text: string, start: number, maxBytes: number): RequestHead | 'incomplete' | 'other' {
  if (!text.startsWith(BEGINNING, start)) {
    return BEGINNING.startsWith(text.slice(start, start + BEGINNING.length)) ? 'incomplete' : 'other';
  }
  const headEnd = text.indexOf(HEAD_END, start + BEGINNING.length);
  if (headEnd < 0) return text.length - start < maxBytes ? 'incomplete' : 'other';
  const end = headEnd + HEAD_END.length;
  if (end - start >= maxBytes) return 'other';
  const targetEnd = text.indexOf(' ', start + BEGINNING.length);
  const fieldsStart = targetEnd + VERSION.length;
  if (targetEnd < 0 || fieldsStart > headEnd || !text.startsWith(VERSION, targetEnd)) return 'other';
  return { spelling: text.slice(start + BEGINNING.length, targetEnd), fields: text.slice(fieldsStart, end - 2), end };
}

/**
 * The fields of a request that the fast lane may answer on a connection that stays open; `undefined` for all others.
 */
export function readFields(text: string): RequestFields | undefined {
  const headers: Record<string, string> = {};
  let [hosts, connections, count] = [0, 0, 0];
  let hasOrigin = false;
  FIELD.lastIndex = 0;
  for (let at = 0; at < text.length; at = FIELD.lastIndex) {
    const [, given = '', value = ''] = FIELD.exec(text) ?? [];
    if (given === '' || ++count > MOST_FIELDS) return undefined;
    const name = given.toLowerCase();
    if (name === 'host') hosts++;
    else if (name === 'origin') hasOrigin = true;
    else if (name === 'connection') {
      connections++;
      if (value.trim().toLowerCase() !== 'keep-alive') return undefined;
    } else if (NOT_UNDERSTOOD.has(name)) return undefined;
    else if (READ.has(name)) {
      if (headers[name] !== undefined && name !== 'forwarded') return undefined;
      headers[name] = value.trim();
    }
  }
  if (hosts !== 1 || connections > 1) return undefined;
  const isPlain = Object.keys(headers).every((name) => PLAIN.has(name));
  return { headers, hasOrigin, acceptsGzip: acceptsGzip(headers['accept-encoding']), isPlain };
}

/** The same headers, without the text that they were parsed from; see {@link unsliced}. */
export function ownedHeaders(headers: RequestHeaders): RequestHeaders {
  const owned = (value: RequestHeaders[string]) => (typeof value === 'string' ? unsliced(value) : value);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, owned(value)]));
}

/** The operation and the query in a spelling; `undefined` if the fast lane does not understand it. */
export function readSpelling(
  spelling: string,
  operations: OperationsInUse,
): { operation: Operation; rawQuery: string } | undefined {
  const mark = spelling.indexOf('?');
  const operation = mark < 0 ? undefined : operations.named(spelling.slice(0, mark));
  if (operation === undefined) return undefined;
  const rawQuery = spelling.slice(mark + 1);
  return QUERY.test(rawQuery) ? { operation, rawQuery } : undefined;
}
