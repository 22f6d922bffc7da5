import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { located, redirectHost } from '../../../src/indexer/location.ts';
import { basesAt, pathAt } from '../../../src/indexer/path-at.ts';

const ORIGIN = 'https://indexer.example';

/** The `Location` that a client gets, or the host that is named instead. */
function led(location: string, base: string, target = '/api/v3/', status = 302) {
  const asked = { origin: ORIGIN, path: pathAt(base, target), ...basesAt(base) };
  const { headers, leadsTo } = located(status, { location, etag: '"x"' }, asked);
  expect(headers.etag).toBe('"x"');
  return leadsTo === undefined ? headers.location : { leadsTo };
}

const ELSEWHERE = { leadsTo: 'indexer.example' };

describe('the Location of a redirect', () => {
  it.each<[location: string, base: string, expected: unknown]>([
    ['index.html', '/', '/api/v3/index.html'],
    ['/api/v3/index.html?a=1#b', '/', '/api/v3/index.html?a=1#b'],
    ['https://indexer.example/api/v3/x', '/', '/api/v3/x'],
    ['https://indexer.example:443/api/v3/x', '/', '/api/v3/x'],
    ['//indexer.example/x', '/', '/x'],
    ['index.html', '/KEY', '/api/v3/index.html'],
    ['/KEY/api/v3/x', '/KEY/', '/api/v3/x'],
    ['https://indexer.example/KEY/api/v3/x', '/KEY', '/api/v3/x'],
    ['/KEY', '/KEY', '/'],
    ['/KEY?a=1', '/KEY', '/?a=1'],
    ['/KEY/v3?a=1', '/KEY/v3', '/api/v3?a=1'],
    ['/KEY//api/v3/x', '/KEY', ELSEWHERE],
    ['/KEY/\\other.example/', '/KEY', ELSEWHERE],
    ['https://indexer.example//other.example/', '/', ELSEWHERE],
    ['/KEY/v3//x', '/KEY/v3', '/api/v3//x'],
    ['../../../KEY/api/v3/x', '/KEY', '/api/v3/x'],
    ['x', '/KEY/v3', '/api/v3/x'],
    ['/KEY/v3/x', '/KEY/v3', '/api/v3/x'],
    ['/KEY', '/KEY/v3', ELSEWHERE],
    ['/KEYS/x', '/KEY', ELSEWHERE],
    ['/api/v3/x', '/KEY', ELSEWHERE],
    ['../../../x', '/KEY', ELSEWHERE],
    ['/KEY/../x', '/KEY', ELSEWHERE],
    ['/KEY/%2e%2e/x', '/KEY', ELSEWHERE],
    ['http://indexer.example/api/v3/x', '/', ELSEWHERE],
    ['https://indexer.example:8443/x', '/', { leadsTo: 'indexer.example:8443' }],
    ['https://other.example/KEY/x', '/KEY', { leadsTo: 'other.example' }],
    ['//other.example/x', '/', { leadsTo: 'other.example' }],
    ['\\\\other.example/x', '/', { leadsTo: 'other.example' }],
    ['https://user:KEY@other.example/', '/', { leadsTo: 'other.example' }],
    ['https://user:KEY@indexer.example/x', '/', '/x'],
    ['javascript:alert(1)', '/', { leadsTo: 'an invalid address' }],
    ['https://', '/', { leadsTo: 'an invalid address' }],
  ])('%s, of an indexer at %s', (location, base, expected) => {
    expect(led(location, base)).toEqual(expected);
  });

  it('never has the path of the setting, and leads a client to where the indexer leads', () => {
    const parts = fc.array(fc.constantFrom('KEY', 'a', '..', '.', '%2e%2e', 'v3', 'api', ''), { maxLength: 6 });
    const starts = fc.constantFrom(
      '',
      '/',
      '//',
      `${ORIGIN}/`,
      'https://other.example/',
      '?',
      '/KEY/',
      '/KEY?',
      '/KEY/v3/',
    );
    const bases = fc.constantFrom('/KEY', '/KEY/', '/KEY/v3', '/a/KEY');
    fc.assert(
      fc.property(starts, parts, bases, (start, path, base) => {
        const location = start + path.join('/');
        const target = '/api/v3/x/y';
        const got = led(location, base, target);
        if (typeof got !== 'string') return;
        const meant = URL.parse(location, ORIGIN + pathAt(base, target));
        expect(URL.parse(got, 'http://toncache/api/v3/x/y')?.host).toBe('toncache');
        expect(got.startsWith('/')).toBe(true);
        const withoutSlash = (text: string) => text.replace(/^([^?]*)\/(?=\?|$)/, '$1');
        expect(withoutSlash(pathAt(base, got))).toBe(withoutSlash(`${meant?.pathname}${meant?.search}`));
      }),
    );
  });
});

it('any other answer only loses a Location that leads elsewhere', () => {
  expect(led('https://other.example/', '/', '/api/v3/', 201)).toBeUndefined();
  expect(led('/api/v3/x', '/', '/api/v3/', 201)).toBe('/api/v3/x');
});

it('the host of a redirect is named without its path', () => {
  expect(redirectHost(308, 'https://other.example/KEY', ORIGIN)).toBe('other.example');
  expect(redirectHost(302, '/KEY', ORIGIN)).toBe('indexer.example');
  expect(redirectHost(302, undefined, ORIGIN)).toBeUndefined();
  expect(redirectHost(201, 'https://other.example/', ORIGIN)).toBeUndefined();
});
