import { describe, expect, it } from 'vitest';
import { type ClientCall, headersOf, type QueryStyle, type Spelling, targetOf } from '../../../src/demo/client.ts';
import { parseTarget } from '../../../src/http/parse-request.ts';
import { accountsOf } from '../../../src/simulator/accounts.ts';
import { digest } from '../../../src/simulator/seeded-random.ts';
import { addressSpellings, hashSpellings } from '../../../src/simulator/spellings.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { findOperation } from '../../../src/ton/operations.ts';
import { parseCall } from '../../../src/ton/parse-call.ts';

const STYLES: readonly QueryStyle[] = ['encoded', 'raw', 'axios', 'loud'];

function namesOf<T extends object>(spellings: T): (keyof T)[] {
  return Object.keys(spellings) as (keyof T)[];
}

function keyOf(call: ClientCall, spelling: Spelling): string {
  const { path, rawQuery } = parseTarget(targetOf(call, spelling));
  const operation = findOperation(path);
  if (operation === undefined) throw new Error(`no operation at ${path}`);
  const headers = Object.fromEntries(Object.entries(headersOf(call)).map(([name, it]) => [name.toLowerCase(), it]));
  return cacheKey('demo', parseCall(operation, rawQuery, headers));
}

describe('the spellings of the crowd', () => {
  const { wallets } = accountsOf(1);
  const [account, other] = wallets;
  if (account === undefined || other === undefined) throw new Error('no wallets');
  const calls: readonly ClientCall[] = [
    ...Array.from({ length: 20 }, (_, n) => ({ about: 'message', externalHash: digest(n) }) as const),
    { about: 'account', account },
    { about: 'account', account: other },
    { about: 'account', account, actionsVersion: 'latest' },
    { about: 'transaction', hash: digest('a') },
    { about: 'transaction', hash: digest('a'), direction: 'in' },
    { about: 'transaction', hash: digest('a'), direction: 'out' },
    { about: 'transaction', hash: digest('b') },
    { about: 'block', seqno: 1 },
    { about: 'block', seqno: 2 },
  ];

  it('give one key for one call, and different keys for different calls', () => {
    const keys = calls.map((call) => {
      const ofCall = new Set<string>();
      for (const style of STYLES) {
        for (const address of namesOf(addressSpellings(account))) {
          for (const hash of namesOf(hashSpellings(Buffer.alloc(32))))
            ofCall.add(keyOf(call, { address, hash, style }));
        }
      }
      expect([...ofCall]).toHaveLength(1);
      return [...ofCall][0];
    });
    expect(new Set(keys).size).toBe(calls.length);
  });
});
