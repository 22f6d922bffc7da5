import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplySyntax } from '../../../src/redis/reply-syntax.ts';

/** Values of RESP2 and RESP3 as a server writes them. */
const { value } = fc.letrec<{ value: string }>((tie) => {
  const line = fc.stringMatching(/^[ -~]{0,20}$/);
  const bytes = fc.uint8Array({ maxLength: 30 }).map((it) => Buffer.from(it).toString('latin1'));
  const list = (type: string, per = 1) =>
    fc
      .array(fc.tuple(...Array.from({ length: per }, () => tie('value'))), { maxLength: 3 })
      .map((items) => `${type}${items.length}\r\n${items.flat().join('')}`);
  return {
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        '_\r\n',
        '$-1\r\n',
        '*-1\r\n',
        '#t\r\n',
        '#f\r\n',
        ',inf\r\n',
        ',-1.5e3\r\n',
        '(123456789012345678901\r\n',
      ),
      fc.maxSafeInteger().map((number) => `:${number}\r\n`),
      line.map((text) => `+${text}\r\n`),
      line.map((text) => `-ERR ${text}\r\n`),
      fc.tuple(fc.constantFrom('$', '!', '='), bytes).map(([type, text]) => `${type}${text.length}\r\n${text}\r\n`),
      list('*'),
      list('~'),
      list('>'),
      list('%', 2),
    ),
  };
});

/** The same bytes in pieces. */
function pieces(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

function check(text: string, cuts: readonly number[] = []): void {
  const syntax = new ReplySyntax();
  for (const piece of pieces(text, cuts)) syntax.check(piece);
}

const cuts = fc.array(fc.nat(), { maxLength: 8 });

describe('the syntax of replies', () => {
  it('accepts every reply of the protocol, however it is split', () => {
    fc.assert(fc.property(fc.array(value, { maxLength: 4 }), cuts, (values, at) => check(values.join(''), at)));
  });

  it('finds bytes that are not of the protocol, however they are split', () => {
    const wrong = fc.constantFrom(
      ...['&1\r\n', 'HTTP/1.1 200 OK\r\n', '\r\n', ':\r\n', ':1a\r\n', ':1\n', '$x\r\n', '$-2\r\n', '$3\r\nabcd\r\n'],
      ...['$3\r\nabc\n\r', '*-2\r\n', '*1.5\r\n', '%-1\r\n', '#x\r\n', '_x\r\n', ',\r\n', '|1\r\n+a\r\n+b\r\n'],
      ...[`$${2 ** 40}\r\n`, '*1000001\r\n', '*600000\r\n*600000\r\n', '*1\r\n'.repeat(33), '+'.padEnd(70_000, 'x')],
    );
    fc.assert(
      fc.property(fc.array(value, { maxLength: 3 }), wrong, cuts, (values, it, at) => {
        expect(() => check(values.join('') + it, at)).toThrow();
      }),
    );
  });
});
