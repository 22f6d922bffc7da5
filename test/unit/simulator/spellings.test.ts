import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressSpellings, decodeAddress, decodeHash, hashSpellings } from '../../../src/simulator/spellings.ts';

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const workchain = fc.constantFrom(0, -1, 1, -128, 127);

describe('spellings of an address', () => {
  const hash = Buffer.from('83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8', 'hex');

  it('gives the known user-friendly forms of a known account', () => {
    const spellings = addressSpellings({ workchain: 0, hash });
    expect(spellings.raw).toBe('0:83DFD552E63729B472FCBCC8C45EBCC6691702558B68EC7527E1BA403A0F31A8');
    expect(spellings.bounceableUrl).toBe('EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N');
    expect(spellings.nonBounceableUrl).toBe('UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI');
    expect(spellings.testnetBounceableUrl).toMatch(/^kQ/);
    expect(spellings.testnetNonBounceableUrl).toMatch(/^0Q/);
  });

  it('starts with Ef for a bounceable address of the masterchain', () => {
    const elector = addressSpellings({ workchain: -1, hash: Buffer.alloc(32, 0x33) });
    expect(elector.bounceableUrl).toBe('Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF');
    expect(elector.raw).toBe(`-1:${'33'.repeat(32)}`);
  });

  it('decodes every spelling of an account to that account', () => {
    fc.assert(
      fc.property(workchain, bytes32, (id, bytes) => {
        for (const spelling of Object.values(addressSpellings({ workchain: id, hash: bytes }))) {
          expect(decodeAddress(spelling)).toEqual({ workchain: id, hash: bytes });
        }
      }),
    );
  });

  it('decodes no text with one character of its checksum or hash changed', () => {
    fc.assert(
      fc.property(bytes32, fc.nat(47), fc.constantFrom('A', 'z', '0'), (bytes, place, letter) => {
        const { bounceableUrl } = addressSpellings({ workchain: 0, hash: bytes });
        fc.pre(bounceableUrl.charAt(place) !== letter);
        const changed = bounceableUrl.slice(0, place) + letter + bounceableUrl.slice(place + 1);
        expect(decodeAddress(changed)).toBeUndefined();
      }),
    );
  });

  it.each(['', '0:', 'EQ', `128:${'00'.repeat(32)}`, `0:${'zz'.repeat(32)}`, 'a b', `0:${'00'.repeat(33)}`])(
    'does not decode %j',
    (text) => expect(decodeAddress(text)).toBeUndefined(),
  );
});

describe('spellings of a hash', () => {
  it('decodes every spelling of a hash to that hash', () => {
    fc.assert(
      fc.property(bytes32, (bytes) => {
        for (const spelling of Object.values(hashSpellings(bytes))) expect(decodeHash(spelling)).toEqual(bytes);
      }),
    );
  });

  it('writes the lengths that clients send', () => {
    const spellings = hashSpellings(Buffer.alloc(32, 0xfb));
    expect(spellings.base64).toMatch(/^[+/A-Za-z0-9]{43}=$/);
    expect(spellings.base64urlUnpadded).toHaveLength(43);
    expect(spellings.base64url).toMatch(/^[\w-]{43}=$/);
    expect(spellings.hexPrefixed).toBe(`0x${'fb'.repeat(32)}`);
  });

  it.each(['', 'ab', `${'A'.repeat(42)} =`, '0x', 'g'.repeat(64)])('does not decode %j', (text) =>
    expect(decodeHash(text)).toBeUndefined(),
  );
});
