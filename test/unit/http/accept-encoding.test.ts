import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Coding, ENCODINGS, IDENTITY_ONLY } from '../../../src/content-codings.ts';
import { acceptedCodings } from '../../../src/http/public/accept-encoding.ts';
import { usedHeapBytes } from '../../support/collect-garbage.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';

const CODINGS: readonly Coding[] = [...ENCODINGS, 'identity'];

/** A member of the list, in one of its spellings. */
const members = fc.record({
  name: fc.constantFrom('gzip', 'GZip', 'br', 'zstd', 'identity', '*', 'deflate', 'x-other'),
  weight: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  spaces: fc.constantFrom('', ' ', '\t', '  '),
});

function written({ name, weight, spaces }: typeof members extends fc.Arbitrary<infer M> ? M : never): string {
  const q = weight === undefined ? '' : `;${spaces}q=${(weight / 1000).toFixed(3)}`;
  return `${spaces}${name}${spaces}${q}${spaces}`;
}

/** A member by RFC 9110 12.5.3, with all blanks that it may have: quadratic, and plainly right. */
const MEMBER = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*(?:;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?[ \t]*$/i;

/** What members are made of, and what only looks like it. */
const pieces = fc.constantFrom(
  ...['gzip', 'GZIP', 'x', '*', ';', 'q=', 'Q=', 'q', '=', '0', '1', '0.5', '1.000', '0.0001', '1.1', '1.'],
  ...[' ', '\t', '  ', '\xa0', '\v', '\f', '\n', '\r', '\u2003', '\ufeff', '"', '\x00'],
);

describe('Accept-Encoding', () => {
  it('gives each coding the weight of RFC 9110 12.5.3, the greatest first', () => {
    fc.assert(
      fc.property(fc.uniqueArray(members, { maxLength: 6, selector: ({ name }) => name.toLowerCase() }), (list) => {
        const weights = new Map(list.map(({ name, weight = 1000 }) => [name.toLowerCase(), weight]));
        const weightOf = (coding: Coding) =>
          weights.get(coding) ?? weights.get('*') ?? (coding === 'identity' ? Number.MIN_VALUE : 0);
        const accepted = acceptedCodings(list.map(written).join(','));
        const all = accepted.flat();
        const first = Math.max(...CODINGS.map(weightOf));
        const isIdentityAlone = CODINGS.every((it) => it === 'identity' || weightOf(it) < first) || first === 0;
        if (isIdentityAlone) {
          expect(accepted).toBe(IDENTITY_ONLY);
          return;
        }
        expect([...all].sort()).toEqual(CODINGS.filter((coding) => weightOf(coding) > 0).sort());
        for (const codings of accepted) expect(new Set(codings.map(weightOf)).size).toBe(1);
        const order = accepted.map(([coding = 'identity']) => weightOf(coding));
        expect(order).toEqual(order.toSorted((one, other) => other - one));
      }),
    );
  });

  it('never throws, and always leaves something', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(acceptedCodings(text).flat().length).toBeGreaterThan(0);
      }),
    );
  });

  it('accepts a coding exactly when its member is well-formed, with a weight above 0', () => {
    const soup = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(''));
    const ordinary = members.map(written);
    fc.assert(
      fc.property(fc.oneof(soup, ordinary), (member) => {
        const [, name, weight = '1'] = MEMBER.exec(member) ?? [];
        const isAccepted = /^(gzip|\*)$/i.test(name ?? '') && Number(weight) > 0;
        expect(acceptedCodings(member).flat().includes('gzip')).toBe(isAccepted);
      }),
    );
  });

  // Each takes a few milliseconds; anything quadratic would take minutes.
  it.each([
    ['blanks in a member', (blanks: string) => `gzip${blanks}x`],
    ['blanks before a weight', (blanks: string) => `gzip${blanks};${blanks}x`],
    ['blanks around a member', (blanks: string) => `${blanks}gzip${blanks}`],
    ['blanks alone', (blanks: string) => blanks],
    ['members', (blanks: string) => blanks.replaceAll(' ', 'a,')],
  ])('takes time that grows no faster than its length: 1 MiB of %s', (_, write) => {
    for (const blank of [' ', '\t']) {
      const given = write(blank.repeat(2 ** 20));
      expect(cpuMicroseconds(() => acceptedCodings(given))).toBeLessThan(10_000_000);
    }
  });

  it.each([
    [undefined, [['identity']]],
    ['', [['identity']]],
    ['identity', [['identity']]],
    ['deflate', [['identity']]],
    ['gzip', [['gzip'], ['identity']]],
    ['x-gzip', [['gzip'], ['identity']]],
    ['gzip, br', [['gzip', 'br'], ['identity']]],
    ['gzip;q=0.5, br;q=0.8', [['br'], ['gzip'], ['identity']]],
    ['gzip;q=0', [['identity']]],
    ['*', [['gzip', 'br', 'zstd', 'identity']]],
    ['*;q=0', [['identity']]],
    ['gzip, *;q=0', [['gzip']]],
    ['identity;q=0', [['identity']]],
    ['identity;q=0, gzip', [['gzip']]],
    ['identity;q=0.5, gzip;q=0.1', [['identity']]],
    ['gzip;q=2, br', [['br'], ['identity']]],
    ['gzip;level=9', [['identity']]],
    ['gzip;q=1.0001', [['identity']]],
    ['gzip;q=0, gzip;q=1', [['gzip'], ['identity']]],
    [',, gzip ,,', [['gzip'], ['identity']]],
  ])('%j accepts %j', (given, accepted) => expect(acceptedCodings(given)).toEqual(accepted));

  it('remembers a bounded number of values, of which the last ones are not parsed again', () => {
    const first = acceptedCodings('gzip, first');
    expect(acceptedCodings('gzip, first')).toBe(first);
    for (let number = 0; number < 3000; number++) {
      const accepted = acceptedCodings(`gzip, x-${number}`);
      expect(accepted).toEqual([['gzip'], ['identity']]);
      expect(acceptedCodings(`gzip, x-${number}`)).toBe(accepted);
    }
    expect(acceptedCodings('gzip, first')).not.toBe(first);
  });

  // A part of a string keeps the whole of it alive in V8: here that would be 64 KiB for each remembered value.
  it('keeps the values that it remembers, not the requests that they were part of', () => {
    const before = usedHeapBytes();
    for (let number = 0; number < 1000; number++) {
      const value = `gzip, remembered-${number}`;
      const read = Buffer.from(`${'a'.repeat(65_536)}${value}`).toString('latin1');
      acceptedCodings(read.slice(65_536));
    }
    expect(usedHeapBytes() - before).toBeLessThan(2 * 1024 * 1024);
  });
});
