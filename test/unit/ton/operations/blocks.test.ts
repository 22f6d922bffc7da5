import { expect, test } from 'vitest';
import { finalityOf } from '../../../../src/ton/finality.ts';
import { seqnoOf } from '../../../../src/ton/parse-call.ts';
import { callOf, HASH, HASH_HEX, refusalOf, requestOf } from '../requests.ts';

const SHARD = '6000000000000000';
const FINAL = { rule: 'shardsFinal' };
const LIVE = { rule: 'shardsLive' };

const BLOCK = { workchain: 0, shard: SHARD, seqno: 9, root_hash: HASH, file_hash: HASH, gen_utime: '1700000000' };
const classify = (query: string, ...blocks: readonly unknown[]) => finalityOf(callOf('blocks', query), 200, { blocks });

test.each([
  `workchain=0&shard=${SHARD}&seqno=9`,
  `workchain=0&shard=0x${SHARD}&seqno=009&limit=1`,
  `root_hash=${HASH_HEX}`,
  `file_hash=${encodeURIComponent(HASH)}`,
])('an answer to %s is final only if it is the requested block alone', (query) => {
  expect(classify(query, BLOCK)).toEqual(FINAL);
  expect(classify(query, BLOCK, BLOCK)).toEqual(LIVE);
  const others = [
    { ...BLOCK, workchain: -1, shard: '2', seqno: 8, root_hash: 'x', file_hash: 'x' },
    { ...BLOCK, workchain: '0', shard: 6, seqno: null, root_hash: undefined, file_hash: 7 },
    {},
    null,
  ];
  for (const other of others) expect(classify(query, other)).toEqual(LIVE);
  expect(classify(query)).toEqual({ rule: 'empty' });
});

test('an answer with a block of another shard, seqno or workchain is live', () => {
  const query = `workchain=0&shard=${SHARD}&seqno=9`;
  for (const other of [{ workchain: -1 }, { shard: '2000000000000000' }, { seqno: 8 }]) {
    expect(classify(query, { ...BLOCK, ...other })).toEqual(LIVE);
  }
});

test('a masterchain block requested without a shard is final, and so is a block whose shard has leading zeros', () => {
  expect(classify('workchain=-1&seqno=9', { ...BLOCK, workchain: -1 })).toEqual(FINAL);
  expect(classify('workchain=0&shard=ff&seqno=9', { ...BLOCK, shard: '00000000000000FF' })).toEqual(FINAL);
});

test('the requested block ranks above another block and above none, and gives the chain point', () => {
  const { operation, request } = callOf('blocks', 'workchain=-1&seqno=9');
  const blocks = [{ ...BLOCK, workchain: -1 }];
  const rankOf = (list: readonly unknown[]) => {
    const finality = classify('workchain=-1&seqno=9', ...list);
    return finality && operation.completeness(finality, { blocks: list }, request).rank;
  };
  expect([rankOf([]), rankOf([BLOCK]), rankOf(blocks)]).toEqual([0, 1, 3]);
  expect(operation.chainPoint({ blocks })).toEqual({ at: 1_700_000_000_000, seqno: 9 });
});

test('the blocks of a masterchain block are final if the list is complete and contains the block itself', () => {
  const master = { workchain: -1, seqno: 7 };
  const shard = { workchain: 0, seqno: 9, masterchain_block_ref: { seqno: 7 } };
  expect(classify('mc_seqno=7', master, shard)).toEqual(FINAL);
  expect(classify('mc_seqno=7', shard)).toEqual(LIVE);
  expect(classify('mc_seqno=7&limit=2', master, shard)).toEqual({ rule: 'shardsFinalPage' });
  expect(classify('mc_seqno=8', master, shard)).toEqual(LIVE);
});

test.each([
  ['8000000000000000', '8000000000000000'],
  ['0x8000000000000000', '8000000000000000'],
  ['-9223372036854775808', '8000000000000000'],
  ['a000000000000000', 'A000000000000000'],
  ['-6917529027641081856', 'A000000000000000'],
  ['00ff', 'FF'],
  ['1234567890123456', '1234567890123456'],
])('the shard %s is sent as %s', (shard, sent) => {
  const { query } = requestOf('blocks', `workchain=0&shard=${shard}&seqno=9`);
  expect(query).toContainEqual(['shard', sent]);
});

test.each([
  'workchain=0&seqno=9',
  'workchain=-1',
  'seqno=9',
  `workchain=0&shard=${SHARD}`,
  '',
  'limit=5',
  `root_hash=${HASH_HEX}&file_hash=${HASH_HEX}`,
  'mc_seqno=7&workchain=-1&seqno=7',
  `root_hash=${HASH_HEX}&root_hash=${HASH_HEX}`,
  `root_hash=${HASH_HEX},${HASH_HEX}`,
  'root_hash=',
  'mc_seqno=7&mc_seqno=7',
  'mc_seqno=',
  'workchain=0&shard=0X8000000000000000&seqno=9',
  'workchain=0&shard=4611686018427387904&seqno=9',
  'workchain=0&shard=-9223372036854775809&seqno=9',
  'workchain=0&shard=&seqno=9',
  'mc_seqno=7&sort=',
])('the query has no cached form: %s', (query) => {
  expect(refusalOf('blocks', query)).toMatch(/^blocks is not cached in this form: .*; PASSTHROUGH does not allow it$/);
});

test('only the seqno of a masterchain block is used for purges and for the choice of an indexer', () => {
  const known = (query: string) => {
    const call = callOf('blocks', query);
    return { tags: call.tags, seqno: seqnoOf(call) };
  };
  expect(known('mc_seqno=7')).toEqual({ tags: ['seqno:7'], seqno: 7 });
  expect(known('workchain=-1&seqno=7')).toEqual({ tags: ['seqno:7'], seqno: 7 });
  expect(known('workchain=-1&shard=8000000000000000&seqno=7')).toEqual({ tags: ['seqno:7'], seqno: 7 });
  expect(known(`workchain=0&shard=${SHARD}&seqno=7`)).toEqual({ tags: [], seqno: undefined });
  expect(known(`file_hash=${HASH_HEX}`)).toEqual({ tags: [`hash:${HASH}`], seqno: undefined });
});
