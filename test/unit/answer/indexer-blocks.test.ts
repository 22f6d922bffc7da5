import { expect, test } from 'vitest';
import { blockFactsIn } from '../../../src/answer/body-facts.ts';
import { IndexerBlocks, type IndexerBlocksDependencies } from '../../../src/answer/indexer-blocks.ts';
import type { Entry } from '../../../src/cache/entry.ts';
import { anEntry } from '../../support/entry.ts';

const EPOCH_MS = 1_700_000_000_000;
const NOW_MS = 100_000;
const BODY = Buffer.from('{"blocks":[{"workchain":-1,"seqno":7,"gen_utime":"1700000000","tx_count":3}]}');

/** A block that the follower finds in the cache. */
const lookedFor = (entry: Partial<Entry>, meta: Partial<Entry['meta']> = {}) => {
  const cached = anEntry({ body: BODY, meta, ...entry });
  const used = {
    network: 'mainnet',
    cache: { lookInMemory: () => ({ state: 'fresh', tier: 'memory', entry: cached }) },
    bodies: { readBlocks: async (body: Buffer) => blockFactsIn(body) },
    now: () => EPOCH_MS + NOW_MS,
    monotonic: () => NOW_MS,
  };
  // The cast: an answer in the cache needs only these dependencies.
  return new IndexerBlocks(used as unknown as IndexerBlocksDependencies).look(7, false);
};

test.each([
  ['of its request', { askedAt: EPOCH_MS + NOW_MS - 300 }, {}, NOW_MS - 300],
  ['of now, if its request is dated ahead', { askedAt: EPOCH_MS + NOW_MS + 900 }, {}, NOW_MS],
  [
    'of its request less the longest time in other caches',
    { askedAt: EPOCH_MS + NOW_MS - 300, ageValueSeconds: 5 },
    { isAged: true },
    NOW_MS - 300 - 6000,
  ],
  [
    'of its request less a second, if its Age is 0',
    { askedAt: EPOCH_MS + NOW_MS - 300 },
    { isAged: true },
    NOW_MS - 1300,
  ],
] as const)('the follower gets an answer with the instant %s', async (_, entry, meta, askedAt) => {
  expect(await lookedFor(entry, meta)).toEqual({ state: 'there', askedAt, transactions: 3 });
});
