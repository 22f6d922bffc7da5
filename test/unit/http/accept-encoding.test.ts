import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptsGzip } from '../../../src/http/parse-request.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';

/** A member of the list, in a random spelling. */
const members = fc.record({
  name: fc.constantFrom('gzip', 'GZip', 'br', 'zstd', 'identity', '*', 'deflate', 'x-other'),
  weight: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  spaces: fc.constantFrom('', ' ', '\t', '  '),
});

function written({ name, weight, spaces }: typeof members extends fc.Arbitrary<infer M> ? M : never): string {
  const q = weight === undefined ? '' : `;${spaces}q=${(weight / 1000).toFixed(3)}`;
  return `${spaces}${name}${spaces}${q}${spaces}`;
}

/** A member by RFC 9110 12.5.3 with optional blanks everywhere: quadratic, but simple enough to be the reference. */
const MEMBER = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*(?:;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?[ \t]*$/i;

/** Parts of members, and characters that only look like such parts. */
const pieces = fc.constantFrom(
  ...['gzip', 'GZIP', 'x', '*', ';', 'q=', 'Q=', 'q', '=', '0', '1', '0.5', '1.000', '0.0001', '1.1', '1.'],
  ...[' ', '\t', '  ', '\xa0', '\v', '\f', '\n', '\r', '\u2003', '\ufeff', '"', '\x00'],
);

describe('Accept-Encoding', () => {
  it('compares the weights of gzip and identity by RFC 9110 12.5.3', () => {
    fc.assert(
      fc.property(fc.uniqueArray(members, { maxLength: 6, selector: ({ name }) => name.toLowerCase() }), (list) => {
        const weights = new Map(list.map(({ name, weight = 1000 }) => [name.toLowerCase(), weight]));
        const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
        const isPreferred = weightOf('gzip') > 0 && weightOf('gzip') >= weightOf('identity');
        expect(acceptsGzip(list.map(written).join(','))).toBe(isPreferred);
      }),
    );
  });

  it('accepts gzip exactly when its member is well-formed, with a weight above 0', () => {
    const soup = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(''));
    const ordinary = members.map(written);
    fc.assert(
      fc.property(fc.oneof(soup, ordinary), (member) => {
        const [, name, weight = '1'] = MEMBER.exec(member) ?? [];
        const isAccepted = /^(gzip|\*)$/i.test(name ?? '') && Number(weight) > 0;
        expect(acceptsGzip(member)).toBe(isAccepted);
      }),
    );
  });

  // Each takes a few milliseconds; a quadratic algorithm would take minutes.
  it.each([
    ['blanks in a member', (blanks: string) => `gzip${blanks}x`],
    ['blanks before a weight', (blanks: string) => `gzip${blanks};${blanks}x`],
    ['blanks around a member', (blanks: string) => `${blanks}gzip${blanks}`],
    ['blanks only', (blanks: string) => blanks],
    ['members', (blanks: string) => blanks.replaceAll(' ', 'a,')],
  ])('takes time that grows no faster than its length: 1 MiB of %s', (_, write) => {
    for (const blank of [' ', '\t']) {
      const given = write(blank.repeat(2 ** 20));
      expect(cpuMicroseconds(() => acceptsGzip(given))).toBeLessThan(10_000_000);
    }
  });
});
