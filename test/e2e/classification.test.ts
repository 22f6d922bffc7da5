import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { childrenOfSettled, someHash, targetOf } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const BLOCK_SET = 4711;
const NOW = 1_700_000_000;

/** The remaining lifetime of a new answer, in whole seconds; `live` is less than one. */
const SECONDS = {
  final: 86_400,
  'final page': 600,
  parent: 3_600,
  settled: 1,
  live: 0,
  growing: 3_600,
  'growing, of no age': 1,
} as const;

const master = { workchain: -1, shard: '8000000000000000', seqno: BLOCK_SET };
const shard = { workchain: 0, seqno: 99, masterchain_block_ref: { workchain: -1, seqno: BLOCK_SET } };
const stranger = { workchain: 0, seqno: 99, masterchain_block_ref: { workchain: -1, seqno: BLOCK_SET - 1 } };
const earlierMaster = { ...master, seqno: BLOCK_SET - 1 };
const sure = { now: NOW, mc_block_seqno: BLOCK_SET, emulated: false };
const text = { comment: `"finality":"pending","emulated":true,"workchain":-1,"seqno":${BLOCK_SET}` };

type Case = readonly [name: string, query: object, body: object, as: keyof typeof SECONDS];

function blocks(count: number): object {
  return { blocks: [master, ...Array.from({ length: count - 1 }, () => shard)] };
}

const BLOCK_SETS: readonly Case[] = [
  ['the master block and shards', {}, blocks(4), 'final'],
  ['the master block alone', {}, blocks(1), 'final'],
  ['the master block at the end', {}, { blocks: [shard, stranger, master] }, 'final'],
  ['one row less than the limit', { limit: 5 }, blocks(4), 'final'],
  ['as many rows as the limit', { limit: 5 }, blocks(5), 'final page'],
  ['more rows than the limit', { limit: 5 }, blocks(6), 'live'],
  ['10 rows, one possible default', {}, blocks(10), 'final page'],
  ['100 rows, the other possible default', {}, blocks(100), 'final page'],
  ['11 rows', {}, blocks(11), 'final'],
  ['10 rows of 100', { limit: 100 }, blocks(10), 'final'],
  ['the first page by its offset', { offset: 0 }, blocks(4), 'final'],
  ['a later page', { offset: 2 }, { blocks: [shard, shard] }, 'final page'],
  ['a later page with a row of another masterchain block', { offset: 2 }, { blocks: [shard, stranger] }, 'live'],
  ['a full page with a row of another masterchain block', { limit: 2 }, { blocks: [shard, stranger] }, 'live'],
  ['shards without the master block', {}, { blocks: [shard, shard] }, 'live'],
  ['another masterchain block', {}, { blocks: [earlierMaster, shard] }, 'live'],
  ['a masterchain block only in a text', {}, { blocks: [{ ...shard, ...text }] }, 'live'],
  ['a shard block with the seqno of the masterchain block', {}, { blocks: [{ ...master, workchain: 0 }] }, 'live'],
  ['a master block with its seqno as text', {}, { blocks: [{ ...master, seqno: String(BLOCK_SET) }] }, 'live'],
  ['transactions of the masterchain block', {}, { transactions: [sure, { ...sure, ...text }] }, 'final page'],
  ['transactions, fewer than the limit', { limit: 9 }, { transactions: [sure] }, 'final page'],
  ['a later page of transactions', { limit: 1, offset: 2 }, { transactions: [sure] }, 'final page'],
  ['transactions that say finalized', {}, { transactions: [{ ...sure, finality: 'finalized' }] }, 'final page'],
  [
    'one transaction of another masterchain block',
    {},
    { transactions: [sure, { ...sure, mc_block_seqno: 1 }] },
    'live',
  ],
  ['one confirmed transaction', {}, { transactions: [sure, { ...sure, finality: 'confirmed' }] }, 'live'],
  ['one emulated transaction', {}, { transactions: [sure, { ...sure, emulated: true }] }, 'live'],
  ['no blocks', {}, { blocks: [] }, 'live'],
  ['null for blocks', {}, { blocks: null }, 'live'],
];

const HASH = someHash();
const out = { direction: 'out' };

/** The facts that keep a transaction from being final, one at a time. */
const NOT_SURE: readonly (readonly [string, object])[] = [
  ['emulated', { ...sure, emulated: true }],
  ['emulated, in some other words', { ...sure, emulated: 'false' }],
  ['emulated or not: null', { ...sure, emulated: null }],
  ['pending', { ...sure, finality: 'pending' }],
  ['confirmed', { ...sure, finality: 'confirmed' }],
  ['of an unknown finality', { ...sure, finality: 'irreversible' }],
  ['of another case of the word', { ...sure, finality: 'FINALIZED' }],
  ['of finality null', { ...sure, finality: null }],
  ['of a finality that is a number', { ...sure, finality: 3 }],
  ['without mc_block_seqno', { ...sure, mc_block_seqno: undefined }],
  ['with mc_block_seqno null', { ...sure, mc_block_seqno: null }],
  ['with mc_block_seqno as a string', { ...sure, mc_block_seqno: '7' }],
  ['final only in a text', { now: NOW, comment: '"finality":"finalized","mc_block_seqno":7' }],
  ['at a time that is a string', { ...sure, now: `${NOW}` }],
  ['at a time that is a fraction', { ...sure, now: NOW + 0.5 }],
  ['at no time', { ...sure, now: null }],
  ['without a time', { ...sure, now: undefined }],
  ['at a time beyond what a number can hold exactly', { ...sure, now: 1e300 }],
];

const ADJACENT: readonly Case[] = [
  ['one row', { direction: 'in' }, { transactions: [sure] }, 'parent'],
  ['one row that is not sure', { direction: 'in' }, { transactions: [{ ...sure, finality: 'pending' }] }, 'live'],
  ['two rows, which cannot be', { direction: 'in' }, { transactions: [sure, sure] }, 'live'],
  ['children', out, { transactions: [sure, { ...sure, finality: 'finalized' }] }, 'growing'],
  ['children, as older indexers send them', out, { transactions: [{ now: NOW, mc_block_seqno: 7 }] }, 'growing'],
  ...[out, {}].flatMap((query) =>
    NOT_SURE.map(([name, row]): Case => [`one that is ${name}`, query, { transactions: [sure, row] }, 'live']),
  ),
  // A single row next to a transaction may be its parent, whose age says nothing about children.
  ['one child, of the first of its trace', {}, { transactions: [{ ...sure, trace_id: HASH }] }, 'growing'],
  ['one row of another trace', {}, { transactions: [{ ...sure, trace_id: 'another' }] }, 'growing, of no age'],
  ['one row whose trace is not known yet', {}, { transactions: [{ ...sure, trace_id: null }] }, 'growing, of no age'],
  ['one row of no trace', {}, { transactions: [sure] }, 'growing, of no age'],
  ['parent and children', {}, { transactions: [sure, sure] }, 'growing'],
  ['a row that is not an object', out, { transactions: [sure, null] }, 'live'],
];

function traces(...transactions: object[]): object {
  return { traces: [{ is_incomplete: false, transactions: { ...transactions } }] };
}

const TRACES: readonly Case[] = [
  ['all final', {}, traces(sure, { ...sure, finality: 'finalized' }, { ...sure, ...text }), 'settled'],
  ['one pending', {}, traces(sure, { ...sure, finality: 'pending' }), 'live'],
  ['one emulated', {}, traces(sure, { ...sure, emulated: true }), 'live'],
  ['one in no masterchain block', {}, traces(sure, { ...sure, mc_block_seqno: null }), 'live'],
  ['a new word', {}, traces({ ...sure, finality: 'FINALIZED' }), 'live'],
  ['no transactions', {}, traces(), 'live'],
  ['a trace without transactions', {}, { traces: [{ trace_id: 'x' }] }, 'live'],
];

describe('an answer is classified by its content', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  // Longer than any answer is of any use.
  afterEach(() => world.leap(100 * 3_600_000));

  async function isClassified(target: string, body: object, as: keyof typeof SECONDS) {
    // The lifetime of growing answers depends on it, and an empty block list requested before it is known is requested
    // again.
    await world.proxy.learnHead(childrenOfSettled(world));
    world.indexer.faults.inject({ kind: 'answer', status: 200, body: JSON.stringify(body) }, { times: 1 });
    const { status, headers } = await world.ask(target);
    expect(status).toBe(200);
    expect((await world.ask(target)).cache).toEqual({ hit: true, ttl: SECONDS[as], detail: 'memory' });
    const mayBeKept = as !== 'live' && as !== 'settled';
    expect(headers['cache-control']).toMatch(mayBeKept ? /^public, max-age=[1-9]/ : /^no-store$/);
  }

  it.each(BLOCK_SETS)('a masterchain block: %s', (_, query, body, as) =>
    isClassified(targetOf('masterchainBlockShards', { seqno: BLOCK_SET, ...query }), body, as),
  );

  it('a masterchain block that may be incomplete lives for 400 ms, and is never served after that', async () => {
    const target = targetOf('masterchainBlockShards', { seqno: BLOCK_SET, limit: 999 });
    const body = JSON.stringify({ blocks: [shard, shard] });
    world.indexer.faults.inject({ kind: 'answer', status: 200, body }, { times: 1 });
    await world.ask(target);
    await world.leap(399);
    expect(await world.ask(target)).toMatchObject({ text: body, cache: { hit: true } });
    const failure = world.indexer.faults.inject(failed(500));
    await world.leap(1);
    expect((await world.ask(target)).status).toBe(500);
    failure.remove();
  });

  it.each(ADJACENT)('adjacent transactions: %s', (_, query, body, as) =>
    isClassified(targetOf('adjacentTransactions', { hash: HASH, ...query }), body, as),
  );

  it.each(TRACES)('pending traces: %s', (_, query, body, as) =>
    isClassified(targetOf('pendingTraces', { ext_msg_hash: someHash(), ...query }), body, as),
  );
});
