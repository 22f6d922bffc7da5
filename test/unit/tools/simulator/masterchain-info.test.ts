import { afterAll, beforeAll, expect, test } from 'vitest';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../../src/tools/simulator/indexer.ts';
import { ask } from '../../../support/http-client.ts';

/** The fields of a block and their types, in the order of toncenter's testnet in July 2024. */
const BLOCK = {
  workchain: 'number',
  shard: 'string',
  seqno: 'number',
  root_hash: 'string',
  file_hash: 'string',
  global_id: 'number',
  version: 'number',
  after_merge: 'boolean',
  before_split: 'boolean',
  after_split: 'boolean',
  want_merge: 'boolean',
  want_split: 'boolean',
  key_block: 'boolean',
  vert_seqno_incr: 'boolean',
  flags: 'number',
  gen_utime: 'string',
  start_lt: 'string',
  end_lt: 'string',
  validator_list_hash_short: 'number',
  gen_catchain_seqno: 'number',
  min_ref_mc_seqno: 'number',
  prev_key_block_seqno: 'number',
  vert_seqno: 'number',
  master_ref_seqno: 'number',
  rand_seed: 'string',
  created_by: 'string',
  tx_count: 'number',
  masterchain_block_ref: { workchain: 'number', shard: 'string', seqno: 'number' },
  prev_blocks: [{ workchain: 'number', shard: 'string', seqno: 'number' }],
};

function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typesOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]));
}

let indexer: Indexer;
afterAll(() => indexer?.close());
beforeAll(async () => {
  const startAt = Date.now() - 60_000;
  const chain = new Chain({ startAt });
  chain.advanceTo(Date.now());
  indexer = await startIndexer({ chain, dialect: '1.3', now: Date.now });
});

test.each(['last', 'first'])(
  "the simulator's masterchainInfo has all 29 fields of a block (%s), as toncenter's",
  async (name) => {
    const block = JSON.parse((await ask(indexer.url, '/api/v3/masterchainInfo')).text)[name];
    expect(typesOf(block)).toEqual(BLOCK);
    expect(Object.keys(block)).toEqual(Object.keys(BLOCK));
    expect(Object.keys(BLOCK)).toHaveLength(29);
  },
);
