import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import {
  type DroppedInput,
  droppedInputs,
  readHeaderLines,
  readPasted,
  rulesOf,
} from '../../../src/ton/explain-call.ts';
import { finalityOf } from '../../../src/ton/finality.ts';
import { OPERATION_NAMES, type OperationName } from '../../../src/ton/operation-names.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';
import { meanings } from './meaning.ts';
import { callOf, EXAMPLES, operationNamed, requestOf } from './requests.ts';
import { spell } from './spell.ts';

function dropped(name: OperationName, rawQuery: string, headers: RequestHeaders = {}): DroppedInput[] {
  return droppedInputs(operationNamed(name), rawQuery, headers);
}

describe('header lines', () => {
  // Each takes a few milliseconds. A quadratic algorithm would take minutes.
  test.each([
    ['before a line end', (blanks: string) => `x:${blanks}\n`],
    ['before two lines', (blanks: string) => `x:${blanks}a\nb`],
    ['between two lines', (blanks: string) => `x:a${blanks}\nb`],
    ['around a value', (blanks: string) => `x:${blanks}a${blanks}`],
    ['before each of two line ends', (blanks: string) => `x:${blanks}\n${blanks}\n`],
    ['alone', (blanks: string) => `x:${blanks}`],
  ])('with 1 MiB of blanks %s are read or refused in less than 10 s of CPU time', (_, write) => {
    const line = write(' '.repeat(2 ** 20));
    const read = () => {
      try {
        readHeaderLines([line]);
      } catch (error) {
        expect(error).toBeInstanceOf(ProxyError);
      }
    };
    expect(cpuMicroseconds(read)).toBeLessThan(10_000_000);
  });
});

describe('a pasted request', () => {
  test.each([
    ['jetton/wallets', '/api/v3/jetton/wallets'],
    ['some_name/v2', '/api/v3/some_name/v2'],
    ['/api/v3/jetton/wallets/', '/api/v3/jetton/wallets/'],
    [' https://host.example/base/api/v3/jetton/wallets', '/api/v3/jetton/wallets'],
    ['/api/streaming/v2/ws', '/api/streaming/v2/ws'],
  ])('is read as a path from /api/ on, with its query: %s', (text, path) => {
    expect(readPasted(`${text}?limit=1#top`)).toEqual({ path, rawQuery: 'limit=1' });
  });

  test.each(['', '17', 'jetton//wallets', '/jetton/wallets', 'https://host.example/wallets'])(
    'without a path of the API is refused: %j',
    (text) => {
      expect(() => readPasted(text)).toThrow('accepted: a URL, a path that begins with /api/, or a name');
    },
  );
});

describe('the list of dropped inputs', () => {
  test('does not contain the value of an API key', () => {
    expect(JSON.stringify(dropped('masterchainBlockShards', 'seqno=7&api_key=hidden'))).not.toContain('hidden');
    expect(JSON.stringify(dropped('masterchainBlockShards', 'seqno=7', { 'x-api-key': 'hidden' }))).not.toContain(
      'hidden',
    );
  });

  test('contains no input that changes the request to the indexer', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const { operation } = meaning;
        const found = dropped(operation, rawQuery, headers);
        const remaining = rawQuery.split('&').filter((piece) => piece !== '');
        for (const { input } of found) {
          const place = remaining.indexOf(input);
          if (place >= 0) remaining.splice(place, 1);
        }
        const names = new Set(found.map(({ input }) => input.slice(0, Math.max(0, input.indexOf(':')))));
        const others = Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));
        expect(requestOf(operation, remaining.join('&'), others)).toEqual(requestOf(operation, rawQuery, headers));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the lifetime rules of a call', () => {
  const row = fc.record(
    {
      workchain: fc.constantFrom(-1, 0),
      seqno: fc.constantFrom(7, 8),
      mc_block_seqno: fc.constantFrom(0, 7),
      now: fc.constant(1),
      finality: fc.constantFrom('finalized', 'pending'),
      transactions: fc.constantFrom({}, { a: { mc_block_seqno: 7 } }),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.record({ error: fc.constant('not found') }),
    fc
      .tuple(fc.constantFrom('blocks', 'transactions', 'traces'), fc.array(row, { maxLength: 3 }))
      .map(([list, rows]) => ({ [list]: rows })),
  );
  test.each(OPERATION_NAMES)('contain the rule of every kept answer to %s', (name) => {
    for (const query of EXAMPLES[name].queries) {
      const call = callOf(name, query);
      const rules = new Set(rulesOf(call));
      fc.assert(
        fc.property(fc.constantFrom(200, 404), body, (status, answer) => {
          const finality = finalityOf(call, status, answer);
          if (finality !== undefined && finality.rule !== 'notKept') expect(rules).toContain(finality.rule);
        }),
        { numRuns: 1000 },
      );
    }
  });
});
