import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forwardedHeaders, returnedHeaders } from '../../../src/http/pass-through/forwarded-headers.ts';

/** RFC 9110 7.6.1, and RFC 2616 13.5.1 for the older ones. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization'],
];

type Headers = Parameters<typeof returnedHeaders>[0];

const forwarded = (headers: Headers) =>
  forwardedHeaders({
    headers,
    rawHeaders: Object.entries(headers).flatMap(([name, value = []]) => [value].flat().flatMap((line) => [name, line])),
  });

const DIRECTIONS = [
  ['to the indexer', forwarded],
  ['to the client', returnedHeaders],
] as const;

/** Pairs of name and value, from the flat list. */
function pairs(flat: readonly string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}

describe.each(DIRECTIONS)('headers that are passed %s', (_, passed) => {
  it('lose hop-by-hop headers, headers that Connection names, and cookies, but no unrelated header', () => {
    const dropped = [...HOP_BY_HOP, 'cookie', 'set-cookie', 'host', 'content-length', 'expect', 'x-timeout'];
    const ours = ['cache-status', 'access-control-allow-origin', 'access-control-expose-headers', 'x-request-id'];
    const names = fc.constantFrom(...dropped, ...ours, 'accept', 'x-api-key', 'x-a', 'x-b', 'if-none-match', 'date');
    const values = fc.oneof(
      fc.constantFrom('x', 'x-a', 'X-B, close', ''),
      fc.array(fc.constant('y'), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.dictionary(names, values), (headers) => {
        const connection = [headers['connection'] ?? ''].flat().join(',').toLowerCase().split(',');
        const named = new Set(connection.map((name) => name.trim()));
        const gone = new Set(pairs(passed(headers)).map(([name]) => name));
        const cookie = passed === forwarded ? 'cookie' : 'set-cookie';
        for (const name of [...HOP_BY_HOP, cookie, ...named]) expect(gone).not.toContain(name);
        for (const [name, value] of Object.entries(headers)) {
          if ([...dropped, ...ours].includes(name) || named.has(name) || value.length === 0) continue;
          expect(pairs(passed(headers)).filter(([other]) => other === name)).toHaveLength([value].flat().length);
        }
      }),
    );
  });
});
