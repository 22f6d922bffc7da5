import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cacheKey, isBulkyKey, withoutNetwork } from '../../../src/ton/cache-key.ts';
import type { CanonicalRequest } from '../../../src/ton/canonical-request.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import { cases } from '../../support/property-runs.ts';
import { identityOf, meaningPairs, meanings } from './meaning.ts';
import { callOf, EXAMPLES, rendered, requestOf } from './requests.ts';
import { spell } from './spell.ts';

const RUNS = cases(1000);

/** What a key says, read back without the code that wrote it. */
function readKey(key: string): { network: string; operation: string } & CanonicalRequest {
  const [, network = '', operation = '', all = ''] = /^([^ ]+) (\w+)\?(.*)$/.exec(key) ?? [];
  const parts = all.split('&').map((part) => {
    const [, name = '', separator = '', value = ''] = /^([\w-]+)([=:])(.*)$/.exec(part) ?? [];
    return { separator, pair: [name, decodeURIComponent(value)] as const };
  });
  const pairsWith = (separator: string) => parts.filter((part) => part.separator === separator).map(({ pair }) => pair);
  return { network, operation, query: pairsWith('='), headers: pairsWith(':') };
}

test('the pages of a block are bulky, by their keys', () => {
  const bulky = OPERATION_NAMES.filter((name) =>
    isBulkyKey(cacheKey('main-net', callOf(name, EXAMPLES[name].queries[0]))),
  );
  expect(bulky).toEqual(['transactionsByMasterchainBlock']);
});

describe('the key of a call', () => {
  test('is shown without its network, whatever that is called', () => {
    const call = callOf('masterchainBlockShards', 'seqno=7');
    for (const network of ['mainnet', 'a b']) {
      expect(withoutNetwork(cacheKey(network, call), network)).toBe('masterchainBlockShards?seqno=7');
    }
  });

  test('is the same for all spellings of it', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const [one, other] = [spell(meaning, gen), spell(meaning, gen)];
        const first = callOf(meaning.operation, one.rawQuery, one.headers);
        const second = callOf(meaning.operation, other.rawQuery, other.headers);
        expect(second.request).toEqual(first.request);
        expect(cacheKey('mainnet', second)).toBe(cacheKey('mainnet', first));
      }),
      RUNS,
    );
  });

  test('is shared by two calls exactly when both mean the same', () => {
    let same = 0;
    fc.assert(
      fc.property(meaningPairs, fc.gen(), ([one, other], gen) => {
        const keys = [one, other].map((meaning) => {
          const { rawQuery, headers } = spell(meaning, gen);
          return cacheKey('mainnet', callOf(meaning.operation, rawQuery, headers));
        });
        const isSame = identityOf(one) === identityOf(other);
        same += Number(isSame);
        expect(keys[0] === keys[1]).toBe(isSame);
      }),
      RUNS,
    );
    // Without pairs of one meaning the property would say half of what it should.
    expect(same).toBeGreaterThan(RUNS.numRuns / 20);
  });

  test('holds the whole request, so that different requests never share it', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const call = callOf(meaning.operation, rawQuery, headers);
        expect(readKey(cacheKey('testnet', call))).toEqual({
          network: 'testnet',
          operation: meaning.operation,
          ...call.request,
        });
      }),
      RUNS,
    );
  });
});

describe('the canonical request', () => {
  test('parses to itself', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const request = requestOf(meaning.operation, rawQuery, headers);
        const again = rendered(request);
        expect(requestOf(meaning.operation, again.rawQuery, again.headers)).toEqual(request);
      }),
      RUNS,
    );
  });

  test('has only header values that arrive unchanged: no outer space, no comma, nothing empty', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const { query, headers: forwarded } = requestOf(meaning.operation, rawQuery, headers);
        for (const [name, value] of query) expect(`${name} ${value}`).toMatch(/^[a-z_]+ [\x20-\x7e]*$/);
        for (const [name, value] of forwarded) {
          expect(name).toMatch(/^X-[A-Za-z-]+$/);
          expect(value).toMatch(/^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e])?$/);
        }
      }),
      RUNS,
    );
  });
});
