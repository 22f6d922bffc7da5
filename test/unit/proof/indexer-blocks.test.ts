import { beforeEach, describe, expect, test } from 'vitest';
import { blockFactsIn, factsOf } from '../../../src/answer/body-facts.ts';
import { classifyAnswer } from '../../../src/answer/classify-answer.ts';
import type { Entry } from '../../../src/cache/entry.ts';
import type { Flight } from '../../../src/once/single-flight.ts';
import { IndexerBlocks, type IndexerBlocksDependencies } from '../../../src/proof/indexer-blocks.ts';
import { blockFactsOf } from '../../../src/ton/block-facts.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT } from '../answer/classified.ts';

/** The seqno of the block, and the number of its transactions. */
const [SEQNO, TRANSACTIONS] = [7, 3];
const [OURS, UNNAMED] = [{ isLocal: false }, { isLocal: true }];

let asked: string[];
let rows: number[];
/** The number of blocks in the round. */
let roundBlocks: number;
let from: { isLocal: boolean };
let ageValueSeconds: number;
let memory: Map<string, Entry>;
let isJoined: boolean;
let source: IndexerBlocks;

beforeEach(() => {
  asked = [];
  rows = [];
  roundBlocks = 5;
  from = OURS;
  ageValueSeconds = 0;
  memory = new Map();
  isJoined = false;
  source = newSource();
});

/** The blocks of the round: the masterchain block has all of its transactions. */
function round(): object[] {
  return Array.from({ length: roundBlocks }, (_, place) => ({
    workchain: place === 0 ? -1 : 0,
    shard: '8000000000000000',
    seqno: place === 0 ? SEQNO : 100 + place,
    gen_utime: String(ASKED_AT / 1000),
    tx_count: place === 0 ? TRANSACTIONS : 0,
    masterchain_block_ref: { workchain: -1, seqno: SEQNO },
  }));
}

/** The body of an indexer whose default limit is 100. */
function bodyOf({ operation, request }: Call): object {
  const limit = Number(request.query.find(([name]) => name === 'limit')?.[1] ?? 100);
  if (operation.name === 'masterchainInfo') return { last: round()[0], first: round()[0] };
  if (operation.name === 'transactionsByMasterchainBlock') {
    const transaction = { account: '0:AA', now: 1, mc_block_seqno: SEQNO, emulated: false, finality: 'finalized' };
    const all = Array.from({ length: TRANSACTIONS }, (_, n) => ({ ...transaction, lt: `${n}`, hash: `${n}` }));
    return { transactions: all.slice(0, limit) };
  }
  return { blocks: round().slice(0, limit) };
}

function answerTo(call: Call): Entry {
  const { operation, request } = call;
  asked.push(`${operation.name}?${request.query.map((pair) => pair.join('=')).join('&')}`);
  const body = Buffer.from(JSON.stringify(bodyOf(call)));
  const [contentType, askedAt, receivedAt] = ['application/json', ASKED_AT, ASKED_AT];
  const answer = { status: 200, contentType, apiVersion: undefined, retryAfterMs: undefined, askedAt, receivedAt };
  const read = { call, key: cacheKey('main', call), answer: { ...answer, ageValueSeconds, body } };
  const by = { indexer: '', ...from, random: () => 0, chainTime: ASKED_AT };
  const entry = classifyAnswer({ ...read, facts: factsOf(call, 200, body) }, by, POLICIES);
  if (!('meta' in entry)) throw entry;
  return entry;
}

function newSource(): IndexerBlocks {
  const free = () => {};
  const flight: Flight = { isAbandoned: false, signal: AbortSignal.any([]), clients: new Set(), depart: free };
  return new IndexerBlocks({
    network: 'main',
    cache: {
      lookInMemory: (key) => {
        const entry = memory.get(key);
        return entry === undefined ? { state: 'miss' } : { state: 'fresh', entry, tier: 'memory' };
      },
      set: (entry) => {
        memory.set(entry.key, entry);
        return { outcome: 'stored' };
      },
    },
    flights: {
      hasWaitingFlight: () => false,
      join: async (_, __, load) => ({ state: 'landed', value: await load(flight), collapsed: isJoined, joined: '' }),
    },
    loader: {
      load: async (call) => ({
        kind: 'loaded',
        entry: answerTo(call),
        status: 200,
        stored: 'stored',
        replaced: false,
      }),
    },
    indexers: {
      ask: async ({ call }, keep) => keep({ entry: answerTo(call) } as Parameters<typeof keep>[0]),
    },
    admission: { enter: async () => ({ free }) as never },
    bodies: { readBlocks: async (body) => blockFactsOf(JSON.parse(body.toString())) },
    timeoutMs: 1000,
    onAnswered: free,
    onRows: (count) => rows.push(count),
    now: () => ASKED_AT,
    monotonic: () => 50_000,
  });
}

describe('the list of a round', () => {
  test('is requested without a limit, as clients do', async () => {
    expect(await source.look(SEQNO, false)).toMatchObject({ state: 'there', transactions: TRANSACTIONS });
    expect(asked).toEqual(['masterchainBlockShards?seqno=7']);
  });

  test.each([10, 100])('of %i blocks is requested again with the largest limit', async (count) => {
    roundBlocks = count;
    expect(await source.look(SEQNO, false)).toMatchObject({ state: 'there', transactions: TRANSACTIONS });
    expect(asked).toEqual(['masterchainBlockShards?seqno=7', 'masterchainBlockShards?seqno=7&limit=1000']);
  });

  test.each([1, 9, 11, 99])('of %i blocks is requested once', async (count) => {
    roundBlocks = count;
    expect(await source.look(SEQNO, true)).toMatchObject({ state: 'there', transactions: TRANSACTIONS });
    expect(asked).toHaveLength(1);
  });
});

describe('an answer of an indexer that has not named its chain is no answer', () => {
  test('when it is a head, a list of the newest blocks, a block, or a page', async () => {
    from = UNNAMED;
    const answers = [
      await source.head(),
      await source.newest(),
      await source.look(SEQNO, false),
      await source.look(SEQNO, true),
      await source.page(SEQNO, 0, 1000, false),
      await source.page(SEQNO, 0, 1000, true),
    ];
    expect(answers).toEqual(answers.map(() => undefined));
    expect(asked).toHaveLength(answers.length);
  });

  test('when it is in memory: the indexer is asked again', async () => {
    from = UNNAMED;
    await source.look(SEQNO, true);
    await source.head();
    from = OURS;
    expect(await source.look(SEQNO, false)).toMatchObject({ state: 'there', transactions: TRANSACTIONS });
    expect(await source.head()).toMatchObject({ seqno: SEQNO });
  });
});

describe('the rows of a page count', () => {
  test('when it was requested for the follower', async () => {
    await source.page(SEQNO, 0, 1000, false);
    await source.page(SEQNO, 0, 1000, true);
    expect(rows).toEqual([TRANSACTIONS, TRANSACTIONS]);
  });

  test('neither from memory nor when a client requested it', async () => {
    isJoined = true;
    await source.page(SEQNO, 0, 1000, false);
    await source.page(SEQNO, 0, 1000, true);
    await source.page(SEQNO, 0, 1000, false);
    expect(rows).toEqual([TRANSACTIONS]);
  });
});

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
