import type { IncomingMessage } from 'node:http';
import { failure, type ProxyError } from '../../errors.ts';

/**
 * The maximum number of header fields of a request. Node keeps each of them as two strings until the head is complete:
 * 5000 connections with 940 tiny fields in 7.6 KB each ended a process without this bound.
 */
export const MOST_FIELDS = 100;

/**
 * Why a request is refused at any path, because a server before or after this one may read it differently; `undefined`
 * if it is not. Node's HTTP server would accept these: more than {@link MOST_FIELDS} header fields, a version other
 * than 1.0 and 1.1, a request line without a version (HTTP/0.9), two Hosts (RFC 9112 3.2), and a transfer coding in
 * HTTP/1.0 or other than chunked (RFC 9112 6.1). A request without Host it would refuse in its own form.
 */
export function refusedFraming(request: IncomingMessage): ProxyError | undefined {
  const { httpVersion, headers, headersDistinct } = request;
  if (request.rawHeaders.length > 2 * MOST_FIELDS) {
    return failure('head-too-large', { text: 'fields', values: { fields: MOST_FIELDS } });
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return failure('unsupported-version', { values: { version: httpVersion } });
  }
  const hosts = headersDistinct['host']?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return failure('bad-request', { text: 'hosts', values: { hosts } });
  }
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return undefined;
  if (httpVersion === '1.0') {
    return failure('unsupported-encoding', { text: 'http-1.0' });
  }
  if (encoding.trim().toLowerCase() === 'chunked') return undefined;
  return failure('unsupported-encoding');
}

/** Why a connection is refused on which no request could be read. */
export type UnparsedCode = keyof typeof UNPARSED;

const UNPARSED = {
  'bad-request': () => failure('bad-request'),
  'body-too-large': () => failure('body-too-large', { text: 'chunk-extensions' }),
  'head-too-large': () => failure('head-too-large', { values: { fields: MOST_FIELDS } }),
  'request-timeout': () => failure('request-timeout'),
  'unsupported-version': () => failure('unsupported-version', { values: { version: 2 } }),
} as const;

/** By the error of Node's parser; `bad-request` for all others. */
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
  return UNPARSED[code]();
}

/** The origin that the bytes of an unread request name; `undefined` if they end before it. */
export function originIn(bytes: Buffer | undefined): string | undefined {
  return bytes && /^origin:[\t ]*(\S+)/im.exec(bytes.toString('latin1'))?.[1];
}
