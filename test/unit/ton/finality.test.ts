import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finalityOf } from '../../../src/ton/finality.ts';
import { POLICIES, ROWS } from '../../../src/ton/lifetime-table.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import { cases } from '../../support/property-runs.ts';
import { callOf, EXAMPLES } from './requests.ts';

/** Every query of the examples, with every list that its answer may hold. */
const CASES = OPERATION_NAMES.flatMap((name) =>
  EXAMPLES[name].lists.flatMap((list) => EXAMPLES[name].queries.map((query) => [name, list, query] as const)),
);

describe.each(CASES)('%s, list `%s`, requested by %s', (name, list, query) => {
  const call = callOf(name, query);
  const classify = (body: unknown, status = 200) => finalityOf(call, status, body);
  const classOf = (body: unknown) => ROWS[classify(body)?.rule ?? 'notKept'].answerClass;

  test('a null or empty list is absent', () => {
    const absent = { rule: EXAMPLES[name].whenEmpty ?? 'empty' };
    expect(classify({ address_book: {}, [list]: null })).toEqual(absent);
    expect(classify({ address_book: {}, [list]: [] })).toEqual(absent);
  });

  test.each([
    ['without a list', {}],
    ['whose list is nested deeper', { result: { [list]: [] } }],
    ['whose list is an object', { [list]: {} }],
    ['whose list is a string', { [list]: '[]' }],
    ['whose list is false', { [list]: false }],
    ['whose list is in a `__proto__` member', JSON.parse(`{"__proto__":{"${list}":[]}}`)],
    ['with the list of another operation', { messages: [] }],
    ['that is an error', { error: 'not found' }],
    ['that is a list itself', [{ [list]: [] }]],
    ['that is null', null],
    ['that is a string', `{"${list}":[]}`],
    ['that is a number', 0],
    ['that is not JSON', undefined],
  ])('a body %s is not an answer', (_, body) => expect(classify(body)).toBeUndefined());

  test("a 404 is absent if it has the indexer's error form, and otherwise not an answer", () => {
    expect(classify({ error: 'not found' }, 404)).toEqual({ rule: 'notFound' });
    expect(classify({ error: '' }, 404)).toEqual({ rule: 'notFound' });
    const foreign = [
      { error: 'Not Found', statusCode: 404, message: 'no such route' },
      { error: 'not found', ok: false },
      { error: 'x', blocks: [] },
    ];
    for (const body of [
      ...foreign,
      {},
      { error: null },
      { error: 404 },
      { error: ['x'] },
      ['error'],
      'error',
      null,
      undefined,
    ]) {
      expect(classify(body, 404)).toBeUndefined();
    }
    expect(classify({ [list]: [{ finality: 'finalized' }] }, 404)).toBeUndefined();
  });

  test('rows of an unexpected form make an answer live without throwing', () => {
    for (const row of [null, 0, '', 'finalized', true, [], [[]], {}]) {
      expect(classOf({ [list]: [row] })).toBe('live');
      expect(classOf({ [list]: [row, row] })).toBe('live');
    }
  });

  test('any JSON that is an answer falls under a rule with a lifetime, or is not kept', () => {
    const member = fc.constantFrom(...[list, 'error', 'transactions', 'blocks', 'traces', 'now', 'mc_block_seqno']);
    const json = fc.jsonValue({ maxDepth: 3 });
    const body = fc.oneof(json, fc.dictionary(member, fc.oneof(json, fc.array(fc.dictionary(member, json)))));
    fc.assert(
      fc.property(body, fc.constantFrom(200, 404), (parsed, status) => {
        const finality = classify(parsed, status);
        if (finality !== undefined && finality.rule !== 'notKept') expect(POLICIES).toHaveProperty(finality.rule);
      }),
      cases(500),
    );
  });
});

test('masterchainBlockShards is classified by its blocks, or by its transactions if it has no list of blocks', () => {
  const row = { hash: 'x', emulated: false, mc_block_seqno: 7 };
  const call = callOf('masterchainBlockShards', 'seqno=7');
  const classified = finalityOf(call, 200, { address_book: {}, transactions: [row] });
  expect(classified).toEqual({ rule: 'shardsFinalPage' });
  const blocks = [{ workchain: -1, seqno: 7 }];
  expect(finalityOf(call, 200, { blocks, transactions: [] })?.rule).toBe('shardsFinal');
});
