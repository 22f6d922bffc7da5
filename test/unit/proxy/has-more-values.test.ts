import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasMoreValues } from '../../../src/proxy/has-more-values.ts';

/** The commas and opening brackets of a value as JSON, and one: at least half of its values, and no more than all. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  const members: unknown[] = Object.values(value);
  return members.reduce<number>((sum, member) => sum + countOf(member), 1) + (members.length === 0 ? 1 : 0);
}

describe('the values in a JSON text', () => {
  test('are counted, whatever is in strings', () => {
    const tricky = fc.stringMatching(/^[,"\\[{:}\]a]{0,8}$/);
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof({ maxDepth: 4 }, tricky, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('json'), { maxLength: 5 }),
      object: fc.dictionary(tricky, tie('json'), { maxKeys: 5 }),
    }));
    fc.assert(
      fc.property(json, fc.boolean(), (value, spaced) => {
        const text = Buffer.from(JSON.stringify(value, undefined, spaced ? 2 : 0));
        const count = countOf(value);
        expect(hasMoreValues(text, count)).toBe(false);
        if (count > 1) expect(hasMoreValues(text, count - 1)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['nested without end', '['.repeat(1001)],
    ['one after another', `[${'0,'.repeat(1000)}0]`],
    ['in objects', '{"":'.repeat(1001)],
  ])('are too many: %s', (_, text) => {
    expect(hasMoreValues(Buffer.from(text), 1000)).toBe(true);
  });

  test.each([
    ['a string of brackets', `"${'[{,'.repeat(1000)}"`],
    ['a string that never ends', `"${'[{,'.repeat(1000)}`],
    ['a string of quotes', `"${'\\",'.repeat(1000)}"`],
    ['a string of backslashes', `"${'\\\\'.repeat(1000)}"`],
    ['nothing', ''],
  ])('are few in %s', (_, text) => {
    expect(hasMoreValues(Buffer.from(text), 1)).toBe(false);
  });
});
