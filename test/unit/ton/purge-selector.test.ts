import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import { parsePurge } from '../../../src/ton/purge-selector.ts';
import { addressSpellings, hashSpellings } from '../../../src/tools/simulator/spellings.ts';
import { cases } from '../../support/property-runs.ts';
import { meanings, namesOf } from './meaning.ts';
import { ACCOUNT, callOf, EXAMPLES, HASH, operationNamed } from './requests.ts';
import { spell } from './spell.ts';

const RUNS = cases(1000);

/** All values that occur in generated meanings, each in every spelling that a purge accepts. */
const everything = (() => {
  const hashes = [0, 0xfb, 0x7e].map((byte) => Buffer.alloc(32, byte));
  const seqnos = [0, 1, 10, 2_147_483_647];
  return [
    ...seqnos.map((seqno) => ({ name: `seqno ${seqno}`, bodies: [seqno, String(seqno), `00${seqno}`].map(seqnoBody) })),
    ...hashes.map((hash) => ({
      name: `hash ${hash.toString('hex')}`,
      bodies: Object.values(hashSpellings(hash)).map((text) => ({ hash: text })),
    })),
    ...hashes.flatMap((hash) =>
      [0, -1].map((workchain) => ({
        name: `account ${workchain} ${hash.toString('hex')}`,
        bodies: Object.values(addressSpellings({ workchain, hash })).map((text) => ({ account: text })),
      })),
    ),
  ];
})();

function seqnoBody(seqno: number | string): object {
  return { seqno };
}

describe('a purge', () => {
  test.each(OPERATION_NAMES)('can select requests for %s, unless the operation has no parameters', (name) => {
    const tags = EXAMPLES[name].queries.flatMap((query) => callOf(name, query).tags);
    expect(tags.length > 0, `${name} has no tags, so a purge cannot name its answers`).toBe(
      operationNamed(name).queryNames.size > 0,
    );
  });

  test('covers exactly the calls with its value, in any spelling of both', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const covered = callOf(meaning.operation, rawQuery, headers).tags;
        const named = namesOf(meaning);
        for (const { name, bodies } of everything) {
          const { tag } = parsePurge(gen(fc.constantFrom<object[]>, ...bodies));
          expect(covered.includes(tag), `${meaning.operation} has the tag of ${name}`).toBe(named.has(name));
        }
      }),
      RUNS,
    );
  });
});

describe('an invalid body of a purge', () => {
  const refusal = (body: unknown) => {
    try {
      return parsePurge(body);
    } catch (error) {
      if (error instanceof ProxyError && error.code === 'invalid-request') return error.message;
      throw error;
    }
  };

  test.each([
    [undefined, /^the body is not a JSON object; accepted: one of seqno, hash, account, all/],
    [null, /^the body/],
    [[{ seqno: 1 }], /^the body/],
    ['all', /^the body/],
    [{}, /^nothing is named/],
    [{ seqno: 1, soft: true }, /^soft is not known/],
    [{ seqno: 1, hash: HASH }, /^seqno and hash are given together/],
    [{ all: true, account: ACCOUNT }, /^all and account are given together/],
    [{ key: 'x' }, /^key is not known; accepted: one of seqno, hash, account, all$/],
    [JSON.parse('{"__proto__":1}'), /__proto__ is not known/],
    [{ toString: 1 }, /^toString is not known/],
    [{ seqno: 1.5 }, /^seqno is not valid; accepted: plain digits, 0 to 2147483647$/],
    [{ seqno: -1 }, /^seqno is not valid/],
    [{ seqno: 2 ** 31 }, /^seqno is not valid/],
    [{ seqno: '' }, /^seqno is empty/],
    [{ seqno: [1] }, /^seqno is not valid/],
    [{ seqno: null }, /^seqno is not valid/],
    [{ hash: 'xyz' }, /^hash is not valid; accepted: 64 hex digits/],
    [{ hash: 7 }, /^hash is not valid/],
    [{ hash: [HASH] }, /^hash is not valid/],
    [{ account: `${ACCOUNT}0` }, /^account is not valid; accepted: workchain:64 hex digits/],
    [{ all: false }, /^all is not valid; accepted: true$/],
    [{ all: 'true' }, /^all is not valid/],
  ])('is refused with an error that names the wrong part: %j', (body, message) => {
    expect(refusal(body)).toMatch(message);
  });
});
