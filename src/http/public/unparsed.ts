/** Why a connection is refused on which no request could be read. */
export type UnparsedCode =
  | 'bad-request'
  | 'body-too-large'
  | 'head-too-large'
  | 'request-timeout'
  | 'unsupported-version';

/** What the client is told. */
export const UNPARSED_MESSAGES: Record<UnparsedCode, string> = {
  'bad-request': 'the request is malformed; accepted: HTTP/1.1',
  'body-too-large': 'the extensions of a chunk of the body are too large; accepted: none',
  'head-too-large': 'the head of the request is larger than http.maxHeaderSize; ask for fewer values at once',
  'request-timeout': 'the request did not arrive in time',
  'unsupported-version': 'HTTP/2 is not spoken here; accepted: HTTP/1.1, HTTP/1.0',
};

/** The codes by what Node's parser reports; for all else, `bad-request`. */
export const UNPARSED_CODES: ReadonlyMap<string | undefined, UnparsedCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'head-too-large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'body-too-large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request-timeout'],
  ['HPE_PAUSED_H2_UPGRADE', 'unsupported-version'],
]);

/** What Node's HTTP server reports of a request that its parser cannot read. */
export type ParseError = Error & { readonly code?: string };
