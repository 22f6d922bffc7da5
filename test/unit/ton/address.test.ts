import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasWrongChecksum, parseAddress } from '../../../src/ton/address.ts';
import { addressSpellings, decodeAddress } from '../../../src/tools/simulator/spellings.ts';
import { ACCOUNT_BOUNCEABLE } from './requests.ts';

const HEX = '00'.repeat(32);
const accountId = fc.record({
  workchain: fc.integer({ min: -128, max: 127 }),
  hash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
});

describe('an account address', () => {
  test('is read from every spelling as `workchain:UPPERCASE HEX`', () => {
    fc.assert(
      fc.property(accountId, (account) => {
        const canonical = `${account.workchain}:${account.hash.toString('hex').toUpperCase()}`;
        for (const spelling of Object.values(addressSpellings(account))) {
          expect(parseAddress(spelling)).toBe(canonical);
          expect(parseAddress(spelling.replaceAll('+', ' '))).toBe(canonical);
        }
      }),
    );
  });

  test('with one of its 48 characters replaced is refused exactly if an independent decoder refuses it', () => {
    const letters = fc.constantFrom(...'ABCXYZabcxyz0189+/-_= :%~'.split(''));
    fc.assert(
      fc.property(accountId, fc.nat(47), letters, fc.boolean(), (account, place, letter, url) => {
        const { bounceable, bounceableUrl } = addressSpellings(account);
        const text = url ? bounceableUrl : bounceable;
        const changed = text.slice(0, place) + letter + text.slice(place + 1);
        // The proxy also accepts a mix of base64 and base64url, which encodes the same bytes. The other decoder does
        // not.
        const oneAlphabet = changed.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
        expect(parseAddress(changed) === undefined).toBe(decodeAddress(oneAlphabet) === undefined);
      }),
      { numRuns: 500 },
    );
  });

  test('is not read from any other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseAddress(text)).toBeUndefined();
      }),
    );
  });

  test.each([
    [`${ACCOUNT_BOUNCEABLE.slice(0, 47)}M`, true],
    [ACCOUNT_BOUNCEABLE, false],
    [ACCOUNT_BOUNCEABLE.slice(0, 47), false],
    [Buffer.alloc(36).toString('base64'), false],
    [`0:${HEX}`, false],
  ])('is reported with a wrong checksum only if it is otherwise valid: %s', (text, expected) =>
    expect(hasWrongChecksum(text)).toBe(expected),
  );
});
