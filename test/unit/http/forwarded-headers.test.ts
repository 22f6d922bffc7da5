import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientHeaders, returnedHeaders } from '../../../src/http/pass-through/forwarded-headers.ts';

/** RFC 9110 7.6.1, and RFC 2616 13.5.1 for the older ones. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization'],
];

type Headers = Parameters<typeof returnedHeaders>[0];

/** Pairs of name and value, from the flat list. */
function pairs(flat: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}

/** The headers that are passed on, of a request with these header lines. */
function passed(lines: readonly (readonly [name: string, value: string])[], withCredentials = true) {
  const headers: Record<string, string> = {};
  for (const [name, value] of lines) {
    const known = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = known === undefined ? value : `${known}, ${value}`;
  }
  return pairs(clientHeaders({ headers, rawHeaders: lines.flat() }, withCredentials));
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
      expect(passed(lines, false)).toEqual(lines.map(([, value]) => [name, value]));
    }
  });

  it('are passed on only with permission if they are credentials', () => {
    const lines = CREDENTIALS.map((name) => [name, 'x'] as const);
    expect(passed(lines, true)).toEqual(lines);
    expect(passed(lines, false)).toEqual([]);
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

describe('headers of an answer', () => {
  it('lose hop-by-hop headers, headers that Connection names, and cookies, but no unrelated header', () => {
    const dropped = [...HOP_BY_HOP, 'set-cookie'];
    const ours = [
      'cache-status',
      'access-control-allow-origin',
      'access-control-allow-private-network',
      'x-request-id',
    ];
    const names = fc.constantFrom(...dropped, ...ours, 'content-type', 'x-a', 'x-b', 'etag', 'date');
    const values = fc.oneof(
      fc.constantFrom('x', 'x-a', 'X-B, close', ''),
      fc.array(fc.constant('y'), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.dictionary(names, values), (headers: Headers) => {
        const connection = [headers['connection'] ?? ''].flat().join(',').toLowerCase().split(',');
        const named = new Set(connection.map((name) => name.trim()));
        const returned = pairs(returnedHeaders(headers));
        for (const name of [...dropped, ...ours, ...named])
          expect(returned.map(([other]) => other)).not.toContain(name);
        for (const [name, value = []] of Object.entries(headers)) {
          if ([...dropped, ...ours].includes(name) || named.has(name) || value.length === 0) continue;
          expect(returned.filter(([other]) => other === name)).toHaveLength([value].flat().length);
        }
      }),
    );
  });
});
