import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHash } from '../../../src/ton/hash.ts';
import { decodeHash, hashSpellings } from '../../../src/tools/simulator/spellings.ts';

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

describe('a hash', () => {
  test('is read from every spelling as padded standard base64', () => {
    fc.assert(
      fc.property(bytes32, (bytes) => {
        for (const spelling of Object.values(hashSpellings(bytes))) {
          expect(parseHash(spelling)).toBe(bytes.toString('base64'));
          expect(parseHash(spelling.replaceAll('+', ' '))).toBe(bytes.toString('base64'));
        }
      }),
    );
  });

  test('is read from exactly the texts that an independent decoder accepts', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'0aFg+/=-_ x:%'), minLength: 40, maxLength: 70 });
    fc.assert(
      fc.property(fc.oneof(soup, fc.string({ unit: 'binary' })), (text) => {
        const oneAlphabet = text.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
        expect(parseHash(text)).toBe(decodeHash(oneAlphabet)?.toString('base64'));
      }),
      { numRuns: 500 },
    );
  });
});
