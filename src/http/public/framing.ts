import type { IncomingMessage } from 'node:http';
import { ProxyError } from '../../errors.ts';

/**
 * The most header fields of a request. Node keeps each of them as two strings until the head is complete: 5000
 * connections with 940 tiny fields in 7.6 KB each ended a process without this bound.
 */
export const MOST_FIELDS = 100;

/**
 * Why a request is refused whatever it asks for, because a server before or behind this one may read it in another way;
 * `undefined` when it is not. Node's HTTP server would accept these: more than {@link MOST_FIELDS} header fields, another
 * version than 1.0 and 1.1, a request line without a version (HTTP/0.9), two Hosts (RFC 9112 3.2), and a transfer coding
 * in HTTP/1.0 or other than chunked (RFC 9112 6.1). One without Host it would refuse in a form of its own.
 */
export function refusedFraming(request: IncomingMessage): ProxyError | undefined {
  const { httpVersion, headers, headersDistinct } = request;
  if (request.rawHeaders.length > 2 * MOST_FIELDS) {
    return new ProxyError('head-too-large', `too many header fields; accepted: at most ${MOST_FIELDS}`);
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new ProxyError(
      'unsupported-version',
      `HTTP/${httpVersion} is not spoken here; accepted: HTTP/1.1, HTTP/1.0`,
    );
  }
  const hosts = headersDistinct['host']?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new ProxyError('bad-request', `the request names ${hosts} Hosts; accepted: one`);
  }
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return undefined;
  if (httpVersion === '1.0') {
    return new ProxyError(
      'unsupported-encoding',
      'Transfer-Encoding is not part of HTTP/1.0; accepted: Content-Length',
    );
  }
  if (encoding.trim().toLowerCase() === 'chunked') return undefined;
  return new ProxyError('unsupported-encoding', 'Transfer-Encoding is not supported as it is given; accepted: chunked');
}

/** Why a connection is refused on which no request could be read. */
export type UnparsedCode = keyof typeof UNPARSED;

/** What the client is told. */
const UNPARSED = {
  'bad-request': 'the request is malformed; accepted: HTTP/1.1',
  'body-too-large': 'the extensions of a chunk of the body are too large; accepted: none',
  'head-too-large': `the head of the request is too large; accepted: http.maxHeaderSize and ${MOST_FIELDS} header fields at most`,
  'request-timeout': 'the request did not arrive in time',
  'unsupported-version': 'HTTP/2 is not spoken here; accepted: HTTP/1.1, HTTP/1.0',
} as const;

/** By what Node's parser reports; for all else, `bad-request`. */
const CODES: ReadonlyMap<string | undefined, UnparsedCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'head-too-large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'body-too-large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request-timeout'],
  ['HPE_PAUSED_H2_UPGRADE', 'unsupported-version'],
]);

/** Why Node's parser cannot read a request, by its error. */
export function unparsedCodeOf({ code }: NodeJS.ErrnoException): UnparsedCode {
  return CODES.get(code) ?? 'bad-request';
}

/** The failure that the client of an unread request gets. */
export function unparsed(code: UnparsedCode): ProxyError {
  return new ProxyError(code, UNPARSED[code]);
}
