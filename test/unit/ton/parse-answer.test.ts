import { describe, expect, test } from 'vitest';
import { parseAnswer } from '../../../src/ton/parse-answer.ts';

const MOST = 10_000;
const rows = (count: number) => Array.from({ length: count }, () => ({}));
const byHash = (count: number) => Object.fromEntries(rows(count).map((row, at) => [`hash ${at}`, row]));
const parsed = (body: object) => parseAnswer(Buffer.from(JSON.stringify(body)));

describe('an answer is not parsed if it has more than 10 000 rows', () => {
  test.each<[string, (count: number) => object]>([
    ['in a list that an operation reads', (count) => ({ blocks: rows(count) })],
    ['in a list that no operation has read so far', (count) => ({ jetton_wallets: rows(count), metadata: {} })],
    ['of one byte each', (count) => ({ blocks: rows(count).map(() => 0) })],
    ['in a list after a short one', (count) => ({ blocks: rows(1), transactions: rows(count) })],
    ['by their hashes in a row', (count) => ({ traces: [{}, { transactions: byHash(count) }] })],
    ['in a list of a row', (count) => ({ traces: [{ actions: rows(count) }] })],
    ['in a row of a new list', (count) => ({ events: [{ steps: rows(count) }] })],
  ])('%s', (_, bodyOf) => {
    expect(parsed(bodyOf(MOST + 1))).toBeUndefined();
    expect(parsed(bodyOf(MOST))).toEqual(bodyOf(MOST));
  });
});

test('an answer may name any number of accounts', () => {
  const body = { transactions: rows(1), address_book: byHash(MOST + 1) };
  expect(parsed(body)).toEqual(body);
});

test('a body that is not JSON is not parsed, and other JSON is', () => {
  expect(parseAnswer(Buffer.from('{"blocks":['))).toBeUndefined();
  for (const json of [[], null, 7, 'text']) expect(parseAnswer(Buffer.from(JSON.stringify(json)))).toEqual(json);
});
