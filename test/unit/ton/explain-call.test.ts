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
  // Each takes a few milliseconds; anything quadratic would take minutes.
  test.each([
    ['before a line end', (blanks: string) => `x:${blanks}\n`],
    ['before two lines', (blanks: string) => `x:${blanks}a\nb`],
    ['between two lines', (blanks: string) => `x:a${blanks}\nb`],
    ['around a value', (blanks: string) => `x:${blanks}a${blanks}`],
    ['with line ends', (blanks: string) => `x:${blanks}\n${blanks}\n`],
    ['alone', (blanks: string) => `x:${blanks}`],
  ])('of 1 MiB of blanks %s take time that grows no faster than their length', (_, write) => {
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
  const operation = operationNamed('transactions');
  const operations = {
    names: OPERATION_NAMES,
    at: (path: string) => (path.replace(/\/$/, '') === '/api/v3/jetton/wallets' ? operation : undefined),
  };

  test.each(['jetton/wallets', '/api/v3/jetton/wallets/', 'https://host.example/base/api/v3/jetton/wallets'])(
    'of an operation whose path has a slash is read: %s',
    (path) => {
      expect(readPasted(`${path}?limit=1#top`, operations)).toEqual({ operation, rawQuery: 'limit=1' });
    },
  );

  test.each(['wallets', 'api/v3/wallets', 'x/jetton/wallets', 'jetton//wallets', '/jetton/wallets'])(
    'of a path at which nothing is cached is refused: %s',
    (path) => {
      expect(() => readPasted(path, operations)).toThrow('nothing is cached at this path');
    },
  );
});

describe('the inputs that are dropped', () => {
  test('do not repeat the value of a key', () => {
    expect(JSON.stringify(dropped('masterchainBlockShards', 'seqno=7&api_key=hidden'))).not.toContain('hidden');
    expect(JSON.stringify(dropped('masterchainBlockShards', 'seqno=7', { 'x-api-key': 'hidden' }))).not.toContain(
      'hidden',
    );
  });

  test('are none of those that the call needs', () => {
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

describe('the rules of lifetimes that a call can fall under', () => {
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
  test.each(OPERATION_NAMES)('hold the rule of every answer to %s, and no other', (name) => {
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
