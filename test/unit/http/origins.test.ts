import { describe, expect, it } from 'vitest';
import { Origins } from '../../../src/http/public/origins.ts';

const SITE = 'https://app.example';
const HEADERS = ['Cache-Status', 'x', 'Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', 'Age'];

describe('without a list', () => {
  const origins = new Origins();

  it('each origin is accepted, and headers are unchanged', () => {
    expect(origins.refuses({ origin: 'https://any.example' })).toBe(false);
    expect(origins.headersFor(SITE, HEADERS)).toBe(HEADERS);
  });
});

describe('with a list', () => {
  const origins = new Origins([SITE, 'capacitor://localhost']);

  it('a listed origin gets its own name', () => {
    for (const origin of [SITE, 'capacitor://localhost']) {
      expect(origins.refuses({ origin })).toBe(false);
      expect(origins.headersFor(origin, HEADERS)).toEqual([
        ...['Cache-Status', 'x', 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', 'Age'],
        ...['Vary', 'Origin'],
      ]);
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
    expect(origins.headersFor(origin, HEADERS)).toEqual(['Cache-Status', 'x', 'Vary', 'Origin']);
  });

  it('a request without an origin is accepted, and gets no CORS headers', () => {
    expect(origins.refuses({})).toBe(false);
    expect(origins.headersFor(undefined, HEADERS)).toEqual(['Cache-Status', 'x', 'Vary', 'Origin']);
  });

  it('Vary keeps its other names', () => {
    expect(origins.headersFor(SITE, ['vary', 'Accept-Encoding', 'Age', '1'])).toEqual([
      ...['vary', 'Accept-Encoding, Origin', 'Age', '1'],
    ]);
  });
});
