import { describe, expect, it } from 'vitest';
import { excerpt, firstDifference } from '../../../src/demo/check-answer.ts';

describe('the first difference of two JSON values', () => {
  it('is undefined for equal values, in whatever order their members are', () => {
    expect(firstDifference({ a: [1, null], b: {} }, { b: {}, a: [1, null] })).toBeUndefined();
  });

  it('is given with its path', () => {
    expect(firstDifference({ a: [{ b: 1 }] }, { a: [{ b: 2 }] })).toBe('a.0.b is 2, expected is 1');
    expect(firstDifference({ a: [] }, { a: [1] })).toBe('a.0 is 1, expected is missing');
    expect(firstDifference({ a: { b: 1 } }, { a: null })).toBe('a is null, expected is {"b":1}');
    expect(firstDifference({}, [])).toBe('it is [], expected is {}');
  });

  it('is given with the beginning of long values', () => {
    const long = 'x'.repeat(1000);
    expect(excerpt(long)).toBe(`${'x'.repeat(160)}… (1000 characters)`);
    expect(excerpt([long])).toMatch(/^\["x{158}… \(1004 characters\)$/);
  });
});
