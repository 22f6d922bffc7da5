import { describe, expect, it } from 'vitest';
import { isBelow, parseTarget } from '../../../src/http/parse-request.ts';

describe('a request target', () => {
  it.each([
    ['/api/v3/x?a=b', '/api/v3/x', 'a=b', '/api/v3/x?a=b'],
    ['/api/v3/x', '/api/v3/x', '', '/api/v3/x'],
    ['/api/v3/x?', '/api/v3/x', '', '/api/v3/x?'],
    ['/x?a?b', '/x', 'a?b', '/x?a?b'],
    ['/x?u=http://y/z', '/x', 'u=http://y/z', '/x?u=http://y/z'],
    ['http://host/api/v3/x?a', '/api/v3/x', 'a', '/api/v3/x?a'],
    ['HTTPS://user:word@host:1/api/v3/x', '/api/v3/x', '', '/api/v3/x'],
    ['http://host', '', '', ''],
    ['http://host?a', '', 'a', '?a'],
    ['http://host//other/x', '//other/x', '', '//other/x'],
    ['http://a/http://b/c', '/http://b/c', '', '/http://b/c'],
    ['ftp://host/x', 'ftp://host/x', '', 'ftp://host/x'],
    ['//host/x', '//host/x', '', '//host/x'],
    ['*', '*', '', '*'],
    ['', '', '', ''],
  ])('is split into path and query: %s', (url, path, rawQuery, originForm) => {
    expect(parseTarget(url)).toEqual({ path, rawQuery, originForm });
  });

  it.each([
    ['/api/v3/x', true],
    ['/API/V3/x', true],
    ['/api/v3/', true],
    ['http://host/api/v3/x', true],
    ['/api/v3', false],
    ['/api/v33', false],
    ['//api/v3/x', false],
    ['//host/api/v3/x', false],
    ['ftp://host/api/v3/x', false],
    ['/x?/api/v3/', false],
    ['/api/v2/x', false],
    ['/other/x', true],
    ['/other', false],
  ])('%s is below /api/v3/ or /other/: %s', (url, isSo) =>
    expect(isBelow(['/api/v3/', '/other/'], parseTarget(url))).toBe(isSo),
  );
});
