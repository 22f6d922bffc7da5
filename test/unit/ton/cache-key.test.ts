import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cacheKey, requestIn, withoutNetwork } from '../../../src/ton/cache-key.ts';
import type { CanonicalRequest } from '../../../src/ton/canonical-request.ts';
import { cases } from '../../support/property-runs.ts';
import { CACHED_NAMES, furtherMeanings } from './further-meanings.ts';
import { identityOf, meaningPairs, meanings } from './meaning.ts';
import { callOf, operationNamed, rendered, requestOf } from './requests.ts';
import { sentMeaning } from './sent-meaning.ts';
import { spell } from './spell.ts';

const RUNS = cases(2500);

/** The content of a key, read back without the code that wrote it. */
function readKey(key: string): { network: string; operation: string } & CanonicalRequest {
  const [, network = '', operation = '', all = ''] = /^([^ ]+) ([\w/]+)\?(.*)$/.exec(key) ?? [];
  const parts = all.split('&').map((part) => {
    const [, name = '', separator = '', value = ''] = /^([\w-]+)([=:])(.*)$/.exec(part) ?? [];
    return { separator, pair: [name, decodeURIComponent(value)] as const };
  });
  const pairsWith = (separator: string) => parts.filter((part) => part.separator === separator).map(({ pair }) => pair);
  return { network, operation, query: pairsWith('='), headers: pairsWith(':') };
}

describe('the key of a call', () => {
  test('is shown without its network, for any name of the network', () => {
    const call = callOf('masterchainBlockShards', 'seqno=7');
    for (const network of ['mainnet', 'a b']) {
      expect(withoutNetwork(cacheKey(network, call), network)).toBe('masterchainBlockShards?seqno=7');
    }
  });

  test('is the same for all spellings of the call', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const [one, other] = [spell(meaning, gen), spell(meaning, gen)];
        const first = callOf(meaning.operation, one.rawQuery, one.headers);
        const second = callOf(meaning.operation, other.rawQuery, other.headers);
        const reason = `two spellings of one ${meaning.operation} have different keys`;
        expect(second.request, reason).toEqual(first.request);
        expect(cacheKey('mainnet', second), reason).toBe(cacheKey('mainnet', first));
      }),
      RUNS,
    );
  });

  test('has the whole request', () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const call = callOf(meaning.operation, rawQuery, headers);
        expect(requestIn(cacheKey('mainnet', call))).toEqual(call.request);
      }),
      RUNS,
    );
  });

  test('is shared by two calls exactly if they have the same meaning', () => {
    let same = 0;
    fc.assert(
      fc.property(meaningPairs, fc.gen(), ([one, other], gen) => {
        const keys = [one, other].map((meaning) => {
          const { rawQuery, headers } = spell(meaning, gen);
          return cacheKey('mainnet', callOf(meaning.operation, rawQuery, headers));
        });
        const isSame = identityOf(one) === identityOf(other);
        same += Number(isSame);
        const reason = isSame ? 'one meaning has two keys' : 'two meanings share a key';
        expect(keys[0] === keys[1], `${reason}: ${keys.join(' and ')}`).toBe(isSame);
      }),
      RUNS,
    );
    // Without enough pairs of equal meanings, the test would not show that they share a key.
    expect(same).toBeGreaterThan(RUNS.numRuns / 20);
  });

  test('contains the whole request, so different requests never share a key', () => {
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

  test("preserves the meaning of the client's request", () => {
    fc.assert(
      fc.property(meanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const sent = rendered(requestOf(meaning.operation, rawQuery, headers));
        const target = `/api/v3/${meaning.operation}?${sent.rawQuery}`;
        expect(identityOf(sentMeaning(target, sent.headers)), target).toBe(identityOf(meaning));
      }),
      RUNS,
    );
  });

  test('has only header values that arrive unchanged: not empty, without commas and outer spaces', () => {
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

describe('a request for a further operation has no cached form', () => {
  /** Parameters that the indexer reads, for these operations or others, and names that look like parameters. */
  const FILTERS =
    'account exclude_account lt start_lt end_lt start_utime end_utime opcode body_hash source destination';
  const NEARLY = 'limit[0] seqno[0] hash[0] tx_hash[0] msg_hash[]x hash[][] hash%00 %zz __ x_debug ext_msg_hash junk';
  const names = new Set([...Object.values(CACHED_NAMES).flat(), ...FILTERS.split(' '), ...NEARLY.split(' '), '']);
  const piece = fc
    .tuple(fc.constantFrom(...names), fc.boolean(), fc.constantFrom('', '[]'), fc.constantFrom('', '1', 'in', '%zz'))
    .map(([name, isUpper, suffix, value]) => ({
      name,
      text: `${isUpper ? name.toUpperCase() : name}${suffix}=${value}`,
    }));
  const withPiece = fc
    .record({ meaning: furtherMeanings, piece, gen: fc.gen() })
    .filter(
      ({ meaning: { operation }, piece: { name } }) =>
        !CACHED_NAMES[operation].includes(name) && !operationNamed(operation).unread.has(name),
    );

  test('if it has a parameter that the cached forms lack', () => {
    fc.assert(
      fc.property(withPiece, ({ meaning, piece, gen }) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const pieces = rawQuery.split('&').filter((part) => part !== '');
        pieces.splice(gen(fc.nat, pieces.length), 0, piece.text);
        expect(() => callOf(meaning.operation, pieces.join('&'), headers)).toThrow(
          expect.objectContaining({ code: 'not-cacheable' }),
        );
      }),
      RUNS,
    );
  });

  test('if it repeats a parameter that takes one value', () => {
    const several = new Set(['limit', 'x_no_address_book', 'x_no_metadata', 'supported_action_types']);
    fc.assert(
      fc.property(furtherMeanings, fc.gen(), (meaning, gen) => {
        const { rawQuery, headers } = spell(meaning, gen);
        const isPage = meaning.operation === 'blocks' || meaning.operation === 'transactionsByMasterchainBlock';
        const once = CACHED_NAMES[meaning.operation].filter(
          (name) => !several.has(name) && !(isPage && name === 'offset'),
        );
        const given = new URLSearchParams(
          requestOf(meaning.operation, rawQuery, headers).query.map(([...pair]) => pair),
        );
        for (const name of once.filter((each) => given.has(each))) {
          const again = `${name}=${encodeURIComponent(given.get(name) ?? '')}`;
          expect(() => callOf(meaning.operation, `${rawQuery}&${again}`, headers), again).toThrow(
            expect.objectContaining({ code: 'not-cacheable' }),
          );
        }
      }),
      RUNS,
    );
  });

  test('if a value is not accepted, except for an empty account, which is an invalid request', () => {
    const wrong = fc.oneof(
      fc.constantFrom(
        '0',
        '-1',
        '+5',
        '-0',
        '1e3',
        '0x10',
        '%zz',
        '%00',
        '',
        '1.0',
        ' 1',
        '99999999999',
        'both',
        'null',
      ),
      fc.constantFrom('v1,v2', 'x'.repeat(100), '%c3%a9'),
      fc.string(),
    );
    const names = fc.constantFrom(...new Set([...Object.values(CACHED_NAMES).flat()]));
    fc.assert(
      fc.property(
        furtherMeanings,
        fc.array(fc.tuple(names, wrong), { minLength: 1, maxLength: 3 }),
        fc.gen(),
        (meaning, more, gen) => {
          const { rawQuery, headers } = spell(meaning, gen);
          const query = [rawQuery, ...more.map(([name, value]) => `${name}=${value.replace(/[&#]/g, '')}`)].join('&');
          const given = { ...headers, 'x-actions-version': gen(() => wrong), 'x-no-address-book': gen(() => wrong) };
          try {
            callOf(meaning.operation, query, given);
          } catch (error) {
            const isEmptyAccount = /\b(?:account|address) is empty/.test(String(error));
            expect(error).toMatchObject({ code: isEmptyAccount ? 'invalid-request' : 'not-cacheable' });
          }
        },
      ),
      RUNS,
    );
  });

  test.each([
    ['transactionsByMasterchainBlock', 'seqno=1&limit=0'],
    ['transactionsByMasterchainBlock', 'seqno=1&limit=-1'],
    ['transactionsByMasterchainBlock', 'seqno=1&limit=+5'],
    ['transactionsByMasterchainBlock', 'seqno=1&offset=-1'],
    ['transactionsByMasterchainBlock', 'seqno=1&limit=1&limit=2'],
    ['transactionsByMasterchainBlock', 'seqno=1&x_no_address_book=1&x_no_address_book=0'],
    ['blocks', 'mc_seqno=1&limit=1001'],
    ['transactions', `hash=${'a'.repeat(64)}&limit=0`],
    ['transactionsByMessage', `msg_hash=${'a'.repeat(64)}&limit=x`],
    ['traces', `tx_hash=${'a'.repeat(64)}&include_actions=1&supported_action_types=%zz`],
  ] as const)('for example %s?%s', (operation, query) => {
    expect(() => callOf(operation, query)).toThrow(expect.objectContaining({ code: 'not-cacheable' }));
  });
});
