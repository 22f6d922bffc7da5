import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ANSWER } from '../../../src/ton/answer-shape.ts';
import { type Json, listOf, mapOf, objectOf, readJson, SCALAR, type Shape } from '../../../src/ton/read-json.ts';
import { cases } from '../../support/property-runs.ts';

/** What a shape leaves of a value: the model, on what `JSON.parse` has made. */
function leave(value: unknown, shape: Shape): Json {
  if (Array.isArray(value)) return shape.elements ? value.map((each) => leave(each, shape.elements ?? {})) : [];
  if (typeof value !== 'object' || value === null) return value as Json;
  const { members, everyMember } = shape;
  const left: [string, Json][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const named = members?.flat().find((member) => member.name === name)?.shape ?? everyMember;
    if (named !== undefined) left.push([name, leave(inner, named)]);
  }
  return Object.fromEntries(left);
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8'));
  } catch {
    return undefined;
  }
}

function expectAsParsed(text: Buffer, shape: Shape): void {
  const parsed = parse(text);
  const read = readJson(text, shape);
  if (parsed === undefined) expect(read).toBeUndefined();
  // By entries: `toEqual` does not see a member that is named `__proto__`.
  else expect(entriesOf(read)).toEqual(entriesOf(leave(parsed, shape)));
}

function entriesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(entriesOf);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, entriesOf(inner)]);
  return { object: entries.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)) };
}

const NAMES = ['transactions', 'traces', 'blocks', 'error', 'hash', 'now', 'seqno', 'emulated', 'finality'];
const OTHER_NAMES = ['', '__proto__', 'hasH', 'nöw', 'n\u0000w', '"', '\u{1f48e}', 'masterchain_block_ref', '0', '1'];

/** A string as JSON in one of its many spellings: any character may be an escape. */
const spelled = (text: string, escapes: readonly boolean[]) =>
  `"${[...text]
    .map((character, index) => {
      const plain = JSON.stringify(character).slice(1, -1);
      if (escapes[index % escapes.length] !== true) return plain;
      return Array.from(character, (part) =>
        Array.from({ length: part.length }, (_, unit) => `\\u${part.charCodeAt(unit).toString(16).padStart(4, '0')}`),
      )
        .flat()
        .join('');
    })
    .join('')}"`;

const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r ');
// A name with a backslash in it is left out: `JSON.parse('{"a":1,"\\"":2}')` has the members `a` and `\` in V8 13.6 where it
// has seen an object with these names before.
const anyName = fc.string().filter((given) => !given.includes('\\'));
const name = fc
  .tuple(fc.oneof(fc.constantFrom(...NAMES), fc.constantFrom(...OTHER_NAMES), anyName), escapes)
  .map(([text, how]) => spelled(text, how));
const number = fc.oneof(
  fc.constantFrom('0', '-0', '1e5', '-1.5E+3', '0.1e-7', '123456789012345', '1234567890123456789', '9e999', '1.0'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);
const text = fc
  .tuple(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...NAMES, 'finalized')), escapes)
  .map(([value, how]) => spelled(value, how));

/** JSON text, with names twice and names of the shape where they say nothing. */
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    number,
    text,
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 5 }))
      .map(([gap, all]) => `[${gap}${all.join(`${gap},`)}${gap}]`),
    fc
      .tuple(space, fc.array(fc.tuple(name, tie('value')), { maxLength: 6 }))
      .map(([gap, all]) => `{${gap}${all.map(([key, inner]) => `${key}${gap}:${gap}${inner}`).join(`,${gap}`)}${gap}}`),
  ),
}));

/** Bytes put in, taken out or changed. */
const damage = fc.array(
  fc.record({
    at: fc.nat(),
    cut: fc.nat({ max: 2 }),
    put: fc.oneof(fc.constantFrom(...Array.from('{}[]",:u0e-.+ntf \n')), fc.constantFrom('\u0001', '\u007f', 'é')),
  }),
  { minLength: 1, maxLength: 3 },
);

const SHAPES: readonly Shape[] = [
  ANSWER,
  mapOf(mapOf(listOf(SCALAR))),
  listOf(objectOf({ hash: SCALAR, now: listOf(mapOf(SCALAR)), nope: SCALAR })),
  SCALAR,
];
const shape = fc.constantFrom(...SHAPES);

describe('what is read of a JSON text', () => {
  test('is what JSON.parse makes of it, as far as the shape names it', () => {
    fc.assert(
      fc.property(value, shape, (json, named) => expectAsParsed(Buffer.from(json), named)),
      cases(1000),
    );
  });

  test('is refused where JSON.parse refuses it', () => {
    fc.assert(
      fc.property(value, damage, shape, (json, damages, named) => {
        let bytes = Buffer.from(json);
        for (const { at, cut, put } of damages) {
          const start = at % (bytes.length + 1);
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(put), bytes.subarray(start + cut)]);
        }
        expectAsParsed(bytes, named);
      }),
      cases(2000),
    );
  });

  test('is the same for bytes that are no UTF-8', () => {
    const bytes = fc.uint8Array({ maxLength: 12 });
    fc.assert(
      fc.property(bytes, bytes, (inName, inText) => {
        const [one, other] = [inName, inText].map((part) => Buffer.from(part).toString('latin1'));
        expectAsParsed(Buffer.from(`{"error":"${other}","${one}":1,"hash${one}":2}`, 'latin1'), ANSWER);
        expectAsParsed(Buffer.from(`{"${one}":"${other}"}`, 'latin1'), mapOf(SCALAR));
        expectAsParsed(Buffer.from(`${one}{"error":"x"}${other}`, 'latin1'), ANSWER);
      }),
      cases(1000),
    );
  });

  test.each([
    ['nothing', ''],
    ['white space alone', ' \n'],
    ['a byte order mark', '\u{feff}{}'],
    ['two values', '{} {}'],
    ['a comma at the end', '{"error":"x",}'],
    ['an open string', '{"error":"x'],
    ['an open list', '{"traces":[[[['],
    ['a wrong end', '{"more":[[}]}'],
    ['a control character in a skipped string', '{"more":"\u0000"}'],
    ['a number with a leading zero', '{"more":01}'],
    ['an unknown escape', '{"more":"\\x"}'],
    ['a word with more letters', '{"more":truely}'],
  ])('is nothing for %s', (_, json) => {
    expect(parse(Buffer.from(json))).toBeUndefined();
    expect(readJson(Buffer.from(json), ANSWER)).toBeUndefined();
  });

  test('leaves out what stands elsewhere under the same name', () => {
    const row = '{"in_msg":{"hash":"inner","emulated":true},"hash":"own","comment":"\\"finality\\":\\"pending\\""}';
    const body = `{"address_book":{"transactions":[1]},"transactions":[${row}],"more":{"transactions":[]}}`;
    expect(readJson(Buffer.from(body), ANSWER)).toEqual({ transactions: [{ hash: 'own' }] });
  });

  test('is nothing for more than 10 000 elements that the shape names, and anything for others', () => {
    const rows = (most: number) => `[${'{},'.repeat(most - 1)}{}]`;
    expect(readJson(Buffer.from(`{"blocks":${rows(10_000)}}`), ANSWER)).toHaveProperty('blocks.length', 10_000);
    expect(readJson(Buffer.from(`{"blocks":${rows(10_001)}}`), ANSWER)).toBeUndefined();
    expect(readJson(Buffer.from(`{"error":"x","more":${rows(20_000)}}`), ANSWER)).toEqual({ error: 'x' });
  });
});
