/** Methods of the public port. */
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** On every answer: browser wallets read answers from any origin. A flat list, as `writeHead` takes it. */
export const CORS_HEADERS: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'Cache-Status, Age, ETag, Retry-After, X-API-Version, X-Request-Id',
];

/** On the answer to a preflight (Fetch standard 3.2.2); what is passed through also takes bodies. */
export function preflightHeaders(passesThrough: boolean): readonly string[] {
  return [
    ...CORS_HEADERS,
    'Access-Control-Allow-Methods',
    passesThrough ? `${ALLOWED_METHODS}, POST` : ALLOWED_METHODS,
    'Access-Control-Allow-Headers',
    `X-Api-Key, X-Actions-Version, X-No-Address-Book, X-No-Metadata, If-None-Match${passesThrough ? ', Content-Type' : ''}`,
    'Access-Control-Max-Age',
    '86400',
  ];
}
