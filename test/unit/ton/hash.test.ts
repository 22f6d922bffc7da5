import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHash } from '../../../src/ton/hash.ts';
import { decodeHash, hashSpellings } from '../../../src/tools/simulator/spellings.ts';
import { HASH, HASH_HEX, HASH_URL } from './requests.ts';

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

describe('a hash', () => {
  test('is the same in every spelling, in padded standard base64', () => {
    fc.assert(
      fc.property(bytes32, (bytes) => {
        for (const spelling of Object.values(hashSpellings(bytes))) {
          expect(parseHash(spelling)).toBe(bytes.toString('base64'));
          expect(parseHash(spelling.replaceAll('+', ' '))).toBe(bytes.toString('base64'));
        }
      }),
    );
  });

  test.each([HASH, HASH.slice(0, 43), HASH_URL, `${HASH_URL}=`, HASH_HEX, HASH_HEX.toUpperCase(), `0x${HASH_HEX}`])(
    'with a known value is read correctly: %s',
    (spelling) => expect(parseHash(spelling)).toBe(HASH),
  );

  test('is read from exactly the texts that an independent decoder reads', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'0aFg+/=-_ x:%'), minLength: 40, maxLength: 70 });
    fc.assert(
      fc.property(fc.oneof(soup, fc.string({ unit: 'binary' })), (text) => {
        const oneAlphabet = text.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
        expect(parseHash(text)).toBe(decodeHash(oneAlphabet)?.toString('base64'));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['nothing', ''],
    ['63 digits', HASH_HEX.slice(1)],
    ['65 digits', `${HASH_HEX}0`],
    ['0x alone', '0x'],
    ['0x twice', `0x0x${HASH_HEX}`],
    ['42 characters', HASH_URL.slice(1)],
    ['44 characters without padding', `${HASH_URL}A`],
    ['too much padding', `${HASH_URL}==`],
    ['padding in the middle', `=${HASH_URL}`],
    ['a line end behind it', `${HASH}\n`],
    ['an address', 'EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N'],
  ])('is not read from %s', (_, text) => expect(parseHash(text)).toBeUndefined());
});
