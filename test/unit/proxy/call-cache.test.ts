import { expect, test } from 'vitest';
import type { Lookup } from '../../../src/cache/tiered-cache.ts';
import { CallCache } from '../../../src/proxy/call-cache.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { findOperation } from '../../../src/ton/operations.ts';
import { parseCall } from '../../../src/ton/parse-call.ts';
import { anEntry } from '../../support/entry.ts';

const operation = findOperation('/api/v3/masterchainBlockShards');
if (operation === undefined) throw new Error('the operation is not served');
const CALL = parseCall(operation, 'seqno=7&limit=50', {});
const KEY = cacheKey('mainnet', CALL);

const OWN_STAMP = Buffer.from('own');
const LIST_STAMP = Buffer.from('list');

/** A cache that holds one entry under the call's own key and one as the short list of its block. */
function holding(own: Lookup, list: Lookup): CallCache {
  return lookedUpBy((key) => (key === KEY ? own : list));
}

function lookedUpBy(lookUp: (key: string) => Lookup): CallCache {
  return new CallCache({
    lookInMemory: lookUp,
    lookForFallback: lookUp,
    lookUp: async (key) => lookUp(key),
    isPurged: () => false,
  });
}

function found(state: 'fresh' | 'stale-if-error', stamp: Buffer): Lookup {
  return { state, tier: 'redis', entry: anEntry(), stamp };
}

test('the better of the two is given, with the stamp of the own key, which the lease is for', async () => {
  const cache = holding(found('stale-if-error', OWN_STAMP), found('fresh', LIST_STAMP));
  expect(await cache.lookUp(CALL, KEY)).toMatchObject({ state: 'fresh', stamp: OWN_STAMP });
});

test('of two that are equally good, the one under the own key is given', async () => {
  const own = found('fresh', OWN_STAMP);
  expect(await holding(own, found('fresh', LIST_STAMP)).lookUp(CALL, KEY)).toEqual(own);
});

test('a 404 for all limits counts only where the own key holds nothing: a replica may lag', async () => {
  const entry = anEntry({ head: { ...anEntry().head, status: 404 } });
  const absent: Lookup = { state: 'fresh', tier: 'redis', entry, stamp: LIST_STAMP };
  const own = found('stale-if-error', OWN_STAMP);
  expect(await holding(own, absent).lookUp(CALL, KEY)).toEqual(own);
  expect(await holding({ state: 'miss' }, absent).lookUp(CALL, KEY)).toMatchObject({
    entry: { head: { status: 404 } },
  });
});

test('without Redis a look-up has its result at once, the better of the two', () => {
  const better = found('fresh', LIST_STAMP);
  const lookUp = (key: string) => (key === KEY ? found('stale-if-error', OWN_STAMP) : better);
  const cache = new CallCache({ lookInMemory: lookUp, lookForFallback: lookUp, lookUp, isPurged: () => false });
  expect(cache.lookUp(CALL, KEY)).toBe(better);
});
