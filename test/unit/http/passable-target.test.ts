import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasApiKey,
  hidesOperation,
  isPassable,
  withoutApiKeys,
} from '../../../src/http/pass-through/passable-target.ts';
import { OperationsInUse } from '../../../src/ton/operations.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';
import { cases } from '../../support/property-runs.ts';

const PASSED = [
  '/api/v3/',
  '/api/v3/masterchainInfo',
  '/api/v3/message/',
  '/api/v3/transactionsByMasterchainBlock?seqno=1&limit=256',
  '/api/v3/a/b/c',
  '/api/v3/.well-known',
  '/api/v3/a..b',
  '/api/v3/...',
  '/api/v3/a.',
  '/api/v3/a;b=c',
  '/api/v3/a;/b',
  '/api/v3/%61',
  '/api/v3/%25',
  '/api/v3/%E2%82%AC',
  '/api/v3/a%20b',
  '/api/v3/a%3Fb',
  "/api/v3/a-._~!$&'()*+,;=:@",
  // Any visible ASCII in a query is accepted, except # and \: only the indexer reads the query.
  '/api/v3/x?',
  '/api/v3/x??',
  '/api/v3/x?a=/../..//./%2f%5c%00%0d%0a%zz',
  '/api/v3/x?u=http://127.0.0.1:1/&h=@evil.example',
  '/api/v3/x?address[]=0:AB&q={}|^`"<>\'',
  // Other prefixes are accepted here: `passThrough.prefixes` decides which of them are passed through.
  '/api/v2/jsonRPC',
  '/api/emulate/v1/emulateTrace',
];

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'no path': ['', '*', 'api/v3/x', '?/api/v3/x'],
  'another form, or another host': [
    ...['http://evil.example/api/v3/x', 'https://evil.example/api/v3/x', '//evil.example/api/v3/x', '///api/v3/x'],
    ...['@evil.example/api/v3/x', '/\\evil.example/api/v3/x', 'evil.example:80', '/%2fapi/v3/x', ' /api/v3/x'],
    '\t/api/v3/x',
  ],
  'dot segments': [
    ...['/api/v3/.', '/api/v3/..', '/api/v3/./x', '/api/v3/../x', '/api/v3/x/.', '/api/v3/x/..', '/api/v3/x/../y'],
    ...['/api/v3/%2e', '/api/v3/%2E%2e/x', '/api/v3/.%2e/x', '/api/v3/x/%2e.', '/api/v3/../', '/api/v3/..?x'],
    ...['/api/v3/..;/x', '/api/v3/..;a=b/x', '/api/v3/.;/x', '/api/v3/%2e%2e;/x', '/api/v3/..%3b/x', '/api/v3/..;'],
  ],
  'empty segments': [
    '/api/v3//',
    '/api/v3//x',
    '/api/v3/x//y',
    '/api/v3/x//',
    '/api/v3/x//?y',
    '//api/v3/x',
    '/api//v3/x',
  ],
  backslashes: ['/api/v3/\\', '/api/v3/x\\y', '/api/v3/..\\x', '/api\\v3\\x', '/api/v3/x?\\'],
  'encoded separators': [
    ...['/api/v3/x%2fy', '/api/v3/x%2Fy', '/api/v3/x%5cy', '/api/v3/x%5Cy', '/api/v3/..%2fx', '/api/v3/%2f..%2f'],
    ...['/api/v3/x%252fy', '/api/v3/x%25252Fy', '/api/v3/..%255c..%255cx', '/api%2fv3/x', '/api/v3%2fx'],
  ],
  'control bytes': [
    ...['/api/v3/%00', '/api/v3/x%0d%0aHost:%20y', '/api/v3/%0a', '/api/v3/%09', '/api/v3/%1f', '/api/v3/%7f'],
    ...['/api/v3/\r\n', '/api/v3/\n', '/api/v3/x\n', '/api/v3/\0', '/api/v3/\x7f', '/api/v3/x?\n', '/api/v3/x?y\r\n'],
  ],
  'bytes that a target cannot hold': [
    ...['/api/v3/ ', '/api/v3/x y', '/api/v3/x?a b', '/api/v3/x#y', '/api/v3/x?y#z', '/api/v3/é', '/api/v3/\u00ff'],
    ...['/api/v3/\u2024\u2024/x', '/api/v3/\uff0e\uff0e/x', '/api/v3/\u2215x', '/api/v3/\ud800', '/ap\u0131/v3/x'],
  ],
  'an invalid encoding': [
    ...['/api/v3/%', '/api/v3/%2', '/api/v3/%zz', '/api/v3/%u002e', '/api/v3/%ff', '/api/v3/%e2%82'],
    // Overlong forms of a dot and a slash, and a surrogate.
    ...['/api/v3/%c0%ae%c0%ae/x', '/api/v3/x%c0%afy', '/api/v3/%e0%80%ae', '/api/v3/%ed%a0%80'],
  ],
  'a dot segment that appears when it is decoded again': [
    ...['/api/v3/%252e', '/api/v3/%252e%252e/x', '/api/v3/x/.%252e/y', '/api/v3/%252E%252E;/x'],
  ],
  // Not allowed by RFC 3986 3.3. Clients that follow the URL standard encode most of them.
  'a byte that no path may hold': [
    ...['/api/v3/"', '/api/v3/<x>', '/api/v3/x^y', '/api/v3/`', '/api/v3/{id}', '/api/v3/x|y'],
  ],
};

const pieces = fc.constantFrom(
  ...['/', '/', '//', '.', '..', '...', '\\', ';', ';a=b', '?', '#', '@', ':', '*', '&', '=', '+', '~', '!', "'", '"'],
  ...['<', '>', '^', '`', '{', '}', '|', '[', ']', ' ', '\t', '\r\n', '\n', '\0', '\x7f', 'é', '\uff0e', '\u2024'],
  ...['\ud800'],
  ...['%', '%2', '%2e', '%2E', '%2f', '%2F', '%5c', '%5C', '%00', '%0a', '%0d', '%09', '%7f', '%20', '%23', '%3b'],
  ...['%3f'],
  ...['%25', '%252e', '%252f', '%255c', '%2500', '%25252e', '%c0%ae', '%ff', '%E2%82%AC', '%ef%bc%8e', '%u002e', '%zz'],
  ...['a', 'message', 'api', 'v3', '/api/v3/', '/API/V3/', 'http://', 'evil.example', 'evil.example:80', '%61', '2e'],
  ...['25'],
);
const soup = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
const targets = fc
  .tuple(
    fc.constantFrom(
      '/api/v3/',
      '/api/v3/',
      '/api/v3/',
      '/API/v3/',
      '/api/v3',
      '',
      '/',
      '//',
      'http://evil.example/api/v3/',
    ),
    fc.oneof({ weight: 4, arbitrary: soup }, fc.string({ unit: 'binary-ascii' }), fc.webPath(), fc.string()),
    fc.oneof(
      fc.constant(''),
      soup.map((query) => `?${query}`),
    ),
  )
  .map((parts) => parts.join(''));
const BASES = [
  'http://127.0.0.1:8081',
  'https://indexer.example/',
  'http://[::1]:1/some/base/path/x?y#z',
  'https://indexer.example/api/v3/',
];

/** The path of a target, and its segments, decoded once. */
function taken(target: string): { path: string; segments: string[] } {
  const [path = ''] = target.split('?');
  return { path, segments: decodeURIComponent(path).slice(1).split('/') };
}

/**
 * Checks a property of the accepted ones among random targets, and fails if too few are accepted for a meaningful
 * result.
 */
function forAccepted(holds: (target: string) => void): void {
  const runs = cases(20_000);
  let accepted = 0;
  fc.assert(
    fc.property(targets, (target) => {
      if (!isPassable(target)) return;
      accepted++;
      holds(target);
    }),
    runs,
  );
  expect(accepted).toBeGreaterThan(runs.numRuns / 40);
}

describe('the accepted targets', () => {
  it.each(PASSED)('include %s', (target) => expect(isPassable(target)).toBe(true));

  it.each(Object.entries(REFUSED))('never include one with %s', (_, refused) => {
    expect(refused.filter(isPassable)).toEqual([]);
  });
});

describe('an accepted target', () => {
  it('decodes to plain segments, with nothing that a server could normalise', () => {
    forAccepted((target) => {
      expect(target).toMatch(/^\/(?:(?![#\\])[\x21-\x7e])*$/);
      const { path, segments } = taken(target);
      expect(path).not.toMatch(/%2f|%5c|\/\//i);
      expect(segments.join('/')).not.toMatch(/[\\\p{Cc}]/u);
      for (const [index, segment] of segments.entries()) {
        expect(['.', '..']).not.toContain(segment.split(';')[0]);
        // After a trailing slash, the last segment is empty.
        if (index < segments.length - 1) expect(segment).not.toBe('');
      }
    });
  });

  it('keeps host and path byte for byte when a client resolves it by the URL standard', () => {
    forAccepted((target) => {
      const { path } = taken(target);
      for (const base of BASES) {
        const { origin, username, hash, pathname } = new URL(target, base);
        expect([origin, username, hash, pathname]).toEqual([new URL(base).origin, '', '', path]);
      }
      expect(new URL(`http://127.0.0.1/base${target}`).pathname).toBe(`/base${path}`);
    });
  });
});

describe('a path that hides a cached operation', () => {
  const operations = new OperationsInUse(['blocks']);

  it.each([
    ...['/api/v3/%70endingTraces', '/api/v3/pendingTrace%53/', '/%61pi/v3/pendingTraces', '/API/%563/PENDINGTRACES'],
    ...['/api/v3/%2570endingTraces', '/api/v3/%252570endingTraces', '/api/v3/%25%37%30endingTraces'],
    ...['/api/v3/pendingTraces;x', '/api/v3/pendingTraces;', '/api/v3/pendingTraces%3bx=y/', '/api/v3;x/pendingTraces'],
    ...['/api;a=b/v3;/pendingTraces;', '/api/;x/v3/pendingTraces', '/api/v3/pendingTraces/;x', '/api/v3/%62locks'],
  ])('is %s', (path) => expect(hidesOperation(path, operations)).toBe(true));

  it.each([
    ...['/api/v3/pendingTraces', '/API/V3/pendingtraces/', '/api/v3/message', '/api/v3/%6dessage', '/api/v3/message;x'],
    ...['/api/v3/traces', '/api/v2/pendingTraces', '/api/v3/x/pendingTraces', '/api/v3/%25', '/api/v3/%E2%82%AC'],
  ])('is not %s', (path) => expect(hidesOperation(path, operations)).toBe(false));

  it('is searched for in time that grows no faster than the length of the path', () => {
    const path = `/api/v3/${'%25'.repeat(5000)}`;
    let hides: boolean | undefined;
    const spent = cpuMicroseconds(() => {
      hides = hidesOperation(path, operations);
    });
    expect(hides).toBe(false);
    // It takes a millisecond; a quadratic algorithm would take seconds.
    expect(spent).toBeLessThan(1_000_000);
  });

  it('is the path of an operation with any of its letters encoded, but not the plain path', () => {
    const encoded = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`;
    const plain = '/api/v3/masterchainBlockShards';
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: plain.length, maxLength: plain.length }), (how) => {
        const path = [...plain]
          .map((letter, at) => (letter === '/' || how[at] !== 0 ? letter : encoded(letter)))
          .join('');
        expect(hidesOperation(path, operations)).toBe(path !== plain);
      }),
      cases(1000),
    );
  });
});

describe('a target without its API keys', () => {
  const names = fc.constantFrom(
    'api_key',
    'API_KEY',
    'apiKey',
    'X-Api-Key',
    'api%5Fkey',
    '%61pi_key',
    'api_key[]',
    'a+pi_key',
  );
  const others = fc.constantFrom(
    'a',
    'api',
    'key',
    'api_keys',
    'my_api_key',
    '',
    '%zz',
    '%',
    'a=b',
    'x=api_key',
    'hash=%2Bapi_key%3D1',
  );
  const values = fc.constantFrom('', '=', '=1', '==', '=%20', '=a=b', '=%26');
  const part = fc.tuple(fc.oneof(names, others), values).map((both) => both.join(''));
  const separators = fc.constantFrom('&', ';', '&&', ';&');

  it('has no API key left, and keeps every other parameter byte for byte', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(part, separators), { maxLength: 6 }), (parts) => {
        const target = `/api/v3/x?${parts.map(([name, separator]) => `${name}${separator}`).join('')}`;
        const without = withoutApiKeys(target);
        expect(hasApiKey(without)).toBe(false);
        expect(withoutApiKeys(without)).toBe(without);
        const isKey = (text: string) =>
          /^(?:x-)?a\+?pi_?-?key(?:\[\])?(?:=|$)/i.test(decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25')));
        const kept = (text: string) =>
          text
            .slice(10)
            .split(/[&;]+/)
            .filter((each) => each !== '');
        expect(kept(without)).toEqual(kept(target).filter((each) => !isKey(each)));
        if (!kept(target).some(isKey)) expect(without).toBe(target);
      }),
      cases(2000),
    );
  });
});
