import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { origins as originsSetting } from '../../../src/config/values.ts';
import { Origins } from '../../../src/http/public/origins.ts';
import { ResponseHeaders } from '../../../src/http/public/response-headers.ts';

const SITE = 'https://app.example';
const NO_CORS = { vary: 'Origin' };

/** The headers about origins of a passed-through answer, and of a preflight, to a request with this origin. */
function sentTo(origins: Origins, origin: string | undefined, vary?: string) {
  const context = { request: { origin }, requestId: undefined };
  const headers = new ResponseHeaders(origins);
  const aboutOrigins = (flat: readonly string[]) => {
    const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), flat[at + 1]] as const] : []));
    expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
    return Object.fromEntries(pairs.filter(([name]) => name === 'vary' || name.startsWith('access-control-')));
  };
  return {
    answer: aboutOrigins(headers.passed({ status: 200, headers: vary === undefined ? {} : { vary } }, context)),
    preflight: aboutOrigins(headers.preflight(false, { origin }).headers),
  };
}

const CORS = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': expect.stringContaining('Cache-Status, Age, ETag'),
});
const PREFLIGHT = (origin: string) => ({
  ...CORS(origin),
  'access-control-allow-headers': '*, Authorization',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-max-age': '86400',
});

describe('without a list', () => {
  const origins = new Origins();

  it('each origin is accepted, and gets the same headers', () => {
    for (const origin of ['https://any.example', undefined]) {
      expect(origins.refuses({ origin })).toBe(false);
      expect(sentTo(origins, origin)).toEqual({ answer: CORS('*'), preflight: PREFLIGHT('*') });
      expect(sentTo(origins, origin, 'X-Any').answer).toEqual({ ...CORS('*'), vary: 'X-Any' });
    }
  });
});

describe('with a list', () => {
  const origins = new Origins([SITE, 'capacitor://localhost']);

  it('a listed origin gets its own name', () => {
    for (const origin of [SITE, 'capacitor://localhost']) {
      expect(origins.refuses({ origin })).toBe(false);
      expect(sentTo(origins, origin)).toEqual({
        answer: { ...CORS(origin), vary: 'Origin' },
        preflight: { ...PREFLIGHT(origin), vary: 'Origin' },
      });
    }
  });

  it.each([
    ...[
      'null',
      '',
      '*',
      'https://app.example/',
      'https://APP.example',
      'https://app.example:443',
      'http://app.example',
    ],
    ...['https://app.example.evil.example', 'https://evil.example', `${SITE}, ${SITE}`, ` ${SITE}`],
  ])('another origin is refused, and gets no CORS headers: %j', (origin) => {
    expect(origins.refuses({ origin })).toBe(true);
    expect(sentTo(origins, origin)).toEqual({ answer: NO_CORS, preflight: NO_CORS });
  });

  it('a request without an origin is accepted, and gets no CORS headers', () => {
    expect(origins.refuses({})).toBe(false);
    expect(sentTo(origins, undefined)).toEqual({ answer: NO_CORS, preflight: NO_CORS });
  });

  it('Vary keeps its other names', () => {
    expect(sentTo(origins, SITE, 'Accept-Encoding').answer).toMatchObject({ vary: 'Accept-Encoding, Origin' });
  });
});

describe('a star in the list', () => {
  const origins = new Origins(['https://*.example.org', 'https://*.b.example.org:8443', SITE]);

  it.each([
    ...['https://a.example.org', 'https://a-1_b.example.org', 'https://xn--e1afmkfd.example.org', SITE],
    ...['https://a.b.example.org:8443', 'https://b.example.org'],
  ])('stands for one label: %s', (origin) => {
    expect(origins.refuses({ origin })).toBe(false);
    expect(sentTo(origins, origin).answer).toMatchObject(CORS(origin));
  });

  it.each([
    ...['https://example.org', 'https://.example.org', 'https://a.a.example.org', 'https://evil-example.org'],
    ...[
      'https://evilexample.org',
      'https://a.example.org.evil.example',
      'https://a.example.org.',
      'https://*.example.org',
    ],
    ...['http://a.example.org', 'https://a.example.org:8443', 'https://a.example.org:443', 'https://a.b.example.org'],
    ...[
      'https://a@.example.org',
      'https://evil.example/.example.org',
      'https://evil.example#.example.org',
      'null',
      '*',
    ],
    ...['https://A.example.org', 'https://a.EXAMPLE.org', ' https://a.example.org', 'https://a.example.org, https://b'],
    ...['x://https://a.example.org', 'https://a.example.org/', 'https://a%2eexample.org', 'https://a\\.example.org'],
  ])('stands for nothing else: %j', (origin) => {
    expect(origins.refuses({ origin })).toBe(true);
    expect(sentTo(origins, origin)).toEqual({ answer: NO_CORS, preflight: NO_CORS });
  });

  it('allows an origin exactly if it differs from the listed one in the first label alone', () => {
    const label = fc.stringMatching(/^[a-z0-9_-]{1,5}$/);
    const host = fc.array(fc.oneof(label, fc.constantFrom('*', '', 'A', 'é', 'a:b', 'a/b')), {
      minLength: 1,
      maxLength: 5,
    });
    const scheme = fc.constantFrom('https://', 'http://', 'capacitor://', '//', '');
    const port = fc.constantFrom('', ':8443', ':', ':0');
    const listed = fc.tuple(scheme, fc.array(label, { minLength: 1, maxLength: 3 }), port);
    fc.assert(
      fc.property(
        listed,
        scheme,
        host,
        port,
        fc.boolean(),
        ([ours, labels, ourPort], theirs, names, theirPort, isNear) => {
          const star = `${ours}*.${labels.join('.')}${ourPort}`;
          fc.pre(originsSetting.safeParse(star).success);
          expect(labels.length).toBeGreaterThan(1);
          const origin = isNear
            ? `${ours}${names[0]}.${labels.join('.')}${ourPort}`
            : `${theirs}${names.join('.')}${theirPort}`;
          const [first = '', ...rest] = isNear ? [names[0], ...labels] : names;
          const isSame = isNear || (theirs === ours && theirPort === ourPort && rest.join('.') === labels.join('.'));
          expect(new Origins([star]).refuses({ origin })).toBe(!(isSame && /^[a-z0-9_-]+$/.test(first)));
        },
      ),
    );
  });
});
