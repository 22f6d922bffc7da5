/** Header values by lower-case name. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers of one connection (RFC 9110 7.6.1), and those that only make sense with it. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** The indexer has no sessions and chooses its own timeouts. Host, content length and request id are set anew. */
const NOT_FORWARDED = ['host', 'content-length', 'expect', 'cookie', 'x-timeout', 'x-request-id'];

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

/** A client's headers as they go to the indexer, in the flat form. */
export function forwardedHeaders(headers: Headers): string[] {
  return without(headers, NOT_FORWARDED);
}

/** The indexer's headers as they go to the client, in the flat form. */
export function returnedHeaders(headers: Headers): string[] {
  return without(headers, NOT_RETURNED);
}

function without(headers: Headers, names: readonly string[]): string[] {
  const named = [headers['connection'] ?? []].flat().flatMap((value) => value.toLowerCase().split(','));
  const dropped = new Set([...HOP_BY_HOP, ...names, ...named.map((name) => name.trim())]);
  return Object.entries(headers).flatMap(([name, value]) =>
    dropped.has(name) ? [] : [value ?? []].flat().flatMap((item) => [name, item]),
  );
}
