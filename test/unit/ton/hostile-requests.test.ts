import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';
import { cases } from '../../support/property-runs.ts';
import { ACCOUNT, callOf, EXAMPLES, HASH_HEX, operationNamed, refusalOf } from './requests.ts';

/** A token of the generated requests that no error message may repeat. */
const MARK = 'zqzq';

const tokens = fc.constantFrom(
  ...['&', '=', '%', '+', ' ', '#', '?', ';', ',', ':', '/', '..', '[', ']', '[]', '[0]', '%5B', '%25', '%26', '%3D'],
  ...['%00', '%0d%0a', '%ff', '%E2%82', '%E2%82%AC', '\u0000', '\u00ff', 'é', '\ud800', '0', '-1', '1e9', 'true'],
  ...['account', 'ext_msg_hash', 'hash', 'direction', 'seqno', 'limit', 'offset', 'sort', 'supported_action_types'],
  ...['x_no_metadata', 'X_NO_ADDRESS_BOOK', 'x-actions-version', 'in', 'asc', 'v1', 'latest'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'length', MARK, ACCOUNT, HASH_HEX, `0x${HASH_HEX}`],
);
const soup = fc.array(tokens, { maxLength: 40 }).map((parts) => parts.join(''));
const almost = fc
  .array(fc.tuple(tokens, fc.constantFrom('=', '[]=', '%3D', ''), tokens), { maxLength: 8 })
  .map((parts) => parts.map((part) => part.join('')).join('&'));
/**
 * A valid query of each operation. Half of the generated queries begin with all of these together, so that some are
 * accepted.
 */
// Hostile bodies are in `operations/run-get-method.test.ts`.
const BY_GET = OPERATION_NAMES.filter((name) => operationNamed(name).body === undefined);
const QUESTIONS = BY_GET.map((name) => `${EXAMPLES[name].queries[0]}&`);
const question = fc.constantFrom('', QUESTIONS.join(''));
const rawQueries = fc
  .tuple(question, fc.oneof(soup, almost, fc.string({ unit: 'binary', maxLength: 200 })))
  .map((parts) => parts.join(''));
const headerNames = fc.constantFrom(
  ...['x-actions-version', 'x-no-address-book', 'x-no-metadata', 'x-timeout', 'cookie', '__proto__', 'constructor'],
);
const headerValues = fc.oneof(soup, fc.constantFrom('v1', 'true', '0', ''), fc.array(soup, { maxLength: 3 }));
const headers: fc.Arbitrary<RequestHeaders> = fc.dictionary(headerNames, headerValues, { maxKeys: 4 });

describe('for any client request', () => {
  test.each(BY_GET)('%s gives a key of safe characters, or an error that repeats no part of the request', (name) => {
    const { isFurther, queryNames } = operationNamed(name);
    // A further operation refuses unknown parameters, except for a few that it drops, such as these.
    const more = fc.oneof(rawQueries, fc.constantFrom('', '_=1', 'X_TIMEOUT=%zz'));
    const ownQueries = more.map((rest) => `${EXAMPLES[name].queries[0]}&${rest}`);
    const runs = cases(5000);
    let accepted = 0;
    fc.assert(
      fc.property(isFurther ? ownQueries : rawQueries, headers, (rawQuery, given) => {
        try {
          const key = cacheKey('mainnet', callOf(name, rawQuery, given));
          expect(key).toMatch(/^mainnet [\w/]+\?[A-Za-z0-9+/=:_,.&%!~*'()-]*$/);
          if (queryNames.size > 0) expect(key).toContain('=');
          accepted++;
        } catch (error) {
          if (!(error instanceof ProxyError)) throw error;
          // A further operation also refuses an empty account as invalid, because no indexer may see it.
          const isRefused = !isFurther || /\b(?:account|address) is empty/.test(error.message);
          expect(error.code).toBe(isRefused ? 'invalid-request' : 'not-cacheable');
          expect(error.message).toMatch(/^[\x20-\x7e]{1,1000}$/);
          expect(error.message).not.toContain(MARK);
        }
      }),
      runs,
    );
    expect(accepted).toBeGreaterThan(runs.numRuns / 50);
  });
});

describe('the CPU time for a long query grows at most linearly with its length', () => {
  const LENGTH = 2 ** 20;
  const filled = (part: string) => part.repeat(Math.ceil(LENGTH / part.length));

  // Measured: at most 60 ms each. A quadratic algorithm would take minutes.
  test.each([
    ['separators', filled('&')],
    ['equals signs', filled('=')],
    ['open brackets in a name', `${filled('[')}=1`],
    ['brackets with digits', `account${filled('[0')}`],
    ['zeros in an array index', `ext_msg_hash[${filled('0')}]=1`],
    ['empty hashes', filled('ext_msg_hash&')],
    ['broken percent-encoding', filled('%zz=%zz&')],
    ['repeated scalar parameters', `${filled('seqno=1&hash=x&')}seqno=2`],
    ['accounts', filled(`account=${ACCOUNT}&`)],
    ['commas', `ext_msg_hash=${filled(',')}`],
    ['action types', `ext_msg_hash=${HASH_HEX}&supported_action_types=${filled('a,')}`],
    ['percent-encoding', `account=${filled('%41')}`],
    ['digits', `seqno=${filled('1')}&hash=${filled('a')}`],
    ['hex digits of an address', `account=0:${filled('a')}`],
    ['base64', `account=${filled('A')}&hash=${filled('A')}`],
  ])('1 MiB of %s', (_, rawQuery) => {
    for (const name of OPERATION_NAMES) {
      let refusal: string | undefined;
      const spent = cpuMicroseconds(() => {
        refusal = refusalOf(name, rawQuery);
      });
      // An operation without parameters accepts one of these queries: the separators, which are an empty query.
      const { queryNames } = operationNamed(name);
      expect(refusal?.length ?? (queryNames.size > 0 ? Infinity : 0)).toBeLessThan(1000);
      expect(spent).toBeLessThan(10_000_000);
    }
  });
});
