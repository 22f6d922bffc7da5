import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientHeaders } from '../../../src/http/pass-through/forwarded-headers.ts';
import { returnedHeaders } from '../../../src/http/public/response-headers.ts';

/** RFC 9110 7.6.1, and RFC 2616 13.5.1 for the older ones. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization'],
];

/** Pairs of name and value, from the flat list. */
function pairs(flat: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}

/** The headers that are passed on, of a request with these header lines. */
function passed(
  lines: readonly (readonly [name: string, value: string])[],
  credentials: Parameters<typeof clientHeaders>[1] = 'all',
) {
  const headers: Record<string, string> = {};
  for (const [name, value] of lines) {
    const known = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = known === undefined ? value : `${known}, ${value}`;
  }
  return pairs(clientHeaders({ headers, rawHeaders: lines.flat() }, credentials));
}

const FORM = [
  ...['accept', 'accept-encoding', 'content-type', 'content-encoding', 'range', 'last-event-id', 'traceparent'],
  ...['if-none-match', 'if-match', 'if-modified-since', 'if-unmodified-since', 'if-range'],
  ...['x-actions-version', 'x-no-address-book', 'x-no-metadata'],
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol', 'sec-websocket-extensions'],
];
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'apikey', 'x-apikey'];
const KEPT_HERE = [
  ...['host', 'content-length', 'expect', 'cookie', 'origin', 'referer', 'user-agent', 'x-request-id', 'x-timeout'],
  ...['x-http-method-override', 'x-original-url', 'x-rewrite-url', 'accept-language', 'dnt', 'sec-fetch-site', 'x-any'],
  ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'true-client-ip'],
  ...['cf-connecting-ip', 'cf-ray', 'cf-visitor', 'cf-ipcountry', 'cdn-loop', 'x-envoy-external-address'],
  ...['fly-client-ip', 'x-amzn-trace-id', 'x-vercel-id', 'tracestate', 'x-auth-token', '__proto__', 'constructor'],
];

describe('headers of a client', () => {
  it('are passed on line by line if they are about the form of request and answer', () => {
    for (const name of FORM) {
      const lines = [
        [name, 'a'],
        [name.toUpperCase(), 'a, b'],
      ] as const;
      expect(passed(lines, 'none')).toEqual(lines.map(([, value]) => [name, value]));
    }
  });

  it('are passed on only with permission if they are credentials', () => {
    const lines = CREDENTIALS.map((name) => [name, 'x'] as const);
    expect(passed(lines, 'all')).toEqual(lines);
    expect(passed(lines, 'key')).toEqual(lines.filter(([name]) => name !== 'authorization'));
    expect(passed(lines, 'none')).toEqual([]);
  });

  it.each([...HOP_BY_HOP, ...KEPT_HERE])('are not passed on otherwise: %s', (name) => {
    expect(passed([[name, 'x']])).toEqual([]);
  });

  it('are not passed on if Connection names them', () => {
    const names = [...FORM, ...CREDENTIALS];
    const lines = names.map((name) => [name, 'x'] as const);
    expect(passed([['Connection', `close, ${names.join(' , ').toUpperCase()}`], ...lines])).toEqual([]);
    expect(passed([['Connection', 'accept'], ['connection', 'x'], ...lines]).map(([name]) => name)).toEqual(
      names.slice(1),
    );
  });
});

const RETURNED = [
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-disposition', 'content-range'],
  ...['content-security-policy', 'etag', 'last-modified', 'accept-ranges', 'allow', 'cache-control', 'expires', 'vary'],
  ...['age', 'date', 'retry-after', 'x-api-version', 'x-content-type-options', 'x-frame-options', 'referrer-policy'],
  ...['x-accel-buffering', 'sec-websocket-accept', 'sec-websocket-protocol', 'location'],
];
const OF_CREDENTIALS = ['www-authenticate', 'x-ratelimit-limit', 'x-ratelimit-remaining'];
const NOT_RETURNED = [
  ...[...HOP_BY_HOP, 'set-cookie', 'set-cookie2', 'cache-status', 'access-control-allow-origin', 'x-request-id'],
  ...['content-location', 'nel', 'report-to', 'refresh', 'server', 'x-powered-by', 'link', 'cf-ray', 'via', 'x-cache'],
  ...['x-api-key', 'authorization', 'alt-svc', 'clear-site-data', 'strict-transport-security', 'permissions-policy'],
  ...['content-security-policy-report-only', 'cross-origin-resource-policy', 'server-timing', 'x-a', 'x-ratelimits'],
  ...['ratelimit', 'x-content-type', 'sec-websocket', '__proto__', 'constructor'],
];

describe('headers of an answer', () => {
  it('are those of the list, with their values, and no other', () => {
    const names = fc.constantFrom(...RETURNED, ...OF_CREDENTIALS, ...NOT_RETURNED);
    const values = fc.oneof(fc.constantFrom<string>('x', 'etag', 'Age, close', ''), fc.constant<string[]>(['y', 'z']));
    fc.assert(
      fc.property(fc.dictionary(names, values), fc.boolean(), (headers, hadCredentials) => {
        const connection = [headers['connection'] ?? []].flat().join(',').toLowerCase().split(',');
        const named = connection.map((name) => name.trim());
        const returned = returnedHeaders(headers, hadCredentials);
        const listed = [...RETURNED, ...(hadCredentials ? OF_CREDENTIALS : [])];
        const expected = Object.keys(headers).filter(
          (name) =>
            listed.includes(name) &&
            !named.includes(name) &&
            !(name === 'content-security-policy' && headers[name] === ''),
        );
        expect(Object.keys(returned).sort()).toEqual(expected.sort());
        for (const name of expected)
          if (name !== 'content-security-policy') expect(returned[name]).toEqual(headers[name]);
      }),
    );
  });

  it.each([
    ["default-src 'none'", "default-src 'none'"],
    ["default-src 'none'; report-uri https://a.example/x; report-to g; img-src *", "default-src 'none'; img-src *"],
    ['Report-URI /x', undefined],
    ["default-src 'self'; report-to g, report-uri /x, img-src *", "default-src 'self', img-src *"],
  ])('lose the directives of a content policy by which browsers report: %s', (policy, expected) => {
    expect(returnedHeaders({ 'content-security-policy': policy }, false)['content-security-policy']).toBe(expected);
  });
});
