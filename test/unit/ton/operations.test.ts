import { describe, expect, test } from 'vitest';
import { findOperation } from '../../../src/ton/operations.ts';
import { OPERATION_NAMES } from './requests.ts';

describe('the operation at a path', () => {
  test.each(OPERATION_NAMES)('is %s, in any case, with or without a trailing slash', (name) => {
    const path = `/api/v3/${name}`;
    for (const spelling of [path, `${path}/`, path.toUpperCase(), `${path.toLowerCase()}/`]) {
      expect(findOperation(spelling)?.name).toBe(name);
    }
  });

  test.each([
    ...['', '/', '/api/v3', '/api/v3/', '/pendingTraces', '/api/v2/pendingTraces', '/api/v3/pendingTrace'],
    ...['/api/v3/pendingTraces//', '//api/v3/pendingTraces', '/api/v3//pendingTraces', '/api/v3/pendingTraces/x'],
    ...['/api/v3/pendingTraces ', '/api/v3/pendingTraces?', '/api/v3/%70endingTraces', '/api/v3/../v3/pendingTraces'],
    ...['/api/v3/__proto__', '/api/v3/constructor', '__proto__', '/api/v3/transactions', '/v3/api/v3/pendingTraces'],
  ])('is none at %j', (path) => expect(findOperation(path)).toBeUndefined());

  test('answers with the lists that versions of the indexer send', () => {
    expect(OPERATION_NAMES.map((name) => findOperation(`/api/v3/${name}`)?.lists)).toEqual([
      ['traces'],
      ['transactions'],
      ['blocks', 'transactions'],
    ]);
  });
});
