import { beforeEach, describe, expect, test } from 'vitest';
import { blockFactsIn, factsOf } from '../../../src/answer/body-facts.ts';
import { classifyAnswer } from '../../../src/answer/classify-answer.ts';
import type { Entry } from '../../../src/cache/entry.ts';
import type { Flight } from '../../../src/once/single-flight.ts';
import { IndexerBlocks, type IndexerBlocksDependencies } from '../../../src/proof/indexer-blocks.ts';
import { blockFactsOf } from '../../../src/ton/block-facts.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import { transactionsByMasterchainBlock } from '../../../src/ton/operations/transactions-by-masterchain-block.ts';
import { type Call, parseCall } from '../../../src/ton/parse-call.ts';
import { anEntry } from '../../support/entry.ts';
import { ASKED_AT } from '../answer/classified.ts';

const SEQNO = 7;
const [OURS, UNNAMED] = [{ isLocal: false }, { isLocal: true }];

let asked: string[];
let rows: number[];
/** The blocks that an indexer must have to be asked past the cache. */
let seqnos: (number | undefined)[];
/** The number of transactions of the block; with 0 the page is empty. */
let transactions: number;
let isFinal: boolean;
/** The number of blocks in the round. */
let roundBlocks: number;
let from: { isLocal: boolean };
let ageValueSeconds: number;
let memory: Map<string, Entry>;
let [epochNow, monotonicNow]: [number, number] = [0, 0];
let isJoined: boolean;
let needed: number;
let shared: IndexerBlocksDependencies['shared'];
let source: IndexerBlocks;

beforeEach(() => {
  asked = [];
  rows = [];
  seqnos = [];
  transactions = 3;
  isFinal = true;
  roundBlocks = 5;
  from = OURS;
  ageValueSeconds = 0;
  memory = new Map();
  [epochNow, monotonicNow] = [ASKED_AT, 50_000];
  isJoined = false;
  needed = 0;
  shared = undefined;
  source = newSource();
});

/** The blocks of the round: the masterchain block has all of its transactions. */
function round(): object[] {
  return Array.from({ length: roundBlocks }, (_, place) => ({
    workchain: place === 0 ? -1 : 0,
    shard: '8000000000000000',
    seqno: place === 0 ? SEQNO : 100 + place,
    gen_utime: String(ASKED_AT / 1000),
    tx_count: place === 0 ? transactions : 0,
    masterchain_block_ref: { workchain: -1, seqno: SEQNO },
  }));
}

/** The body of an indexer whose default limit is 100. */
function bodyOf({ operation, request }: Call): object {
  const limit = Number(request.query.find(([name]) => name === 'limit')?.[1] ?? 100);
  if (operation.name === 'masterchainInfo') return { last: round()[0], first: round()[0] };
  if (operation.name === 'transactionsByMasterchainBlock') {
    const transaction = { account: '0:AA', now: 1, mc_block_seqno: SEQNO, emulated: !isFinal, finality: 'finalized' };
    const all = Array.from({ length: transactions }, (_, n) => ({ ...transaction, lt: `${n}`, hash: `${n}` }));
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
    load: async (call) => ({ kind: 'loaded', entry: answerTo(call), status: 200, stored: 'stored', replaced: false }),
    ask: async ({ call }, keep) => keep({ entry: answerTo(call) } as Parameters<typeof keep>[0]),
    admission: {
      enter: async ({ seqno }) => {
        seqnos.push(seqno);
        return { free } as never;
      },
    },
    bodies: { readBlocks: async (body) => blockFactsOf(JSON.parse(body.toString())) },
    shared,
    onNeeded: () => void needed++,
    timeoutMs: 1000,
    onAnswered: free,
    onRows: (count) => rows.push(count),
    now: () => epochNow,
    monotonic: () => monotonicNow,
  });
}

const page = (pastCache = false) => source.page(SEQNO, 0, 1000, pastCache);
const OWN = 'transactionsByMasterchainBlock?seqno=7&limit=1000&sort=asc';

/** A client has loaded the page of the block in this form. */
const loadedBy = (query: string) => {
  const call = parseCall(transactionsByMasterchainBlock, query, {});
  memory.set(cacheKey('main', call), answerTo(call));
  asked = [];
};

describe('the number of transactions of a round', () => {
  test('is requested without a limit, as clients do', async () => {
    expect(await source.count(SEQNO)).toBe(3);
    expect(asked).toEqual(['masterchainBlockShards?seqno=7']);
  });

  test.each([10, 100])('of %i blocks is requested again with the largest limit', async (count) => {
    roundBlocks = count;
    expect(await source.count(SEQNO)).toBe(3);
    expect(asked).toEqual(['masterchainBlockShards?seqno=7', 'masterchainBlockShards?seqno=7&limit=1000']);
  });

  test.each([1, 9, 11, 99])('of %i blocks is requested once', async (count) => {
    roundBlocks = count;
    expect(await source.count(SEQNO)).toBe(3);
    expect(asked).toHaveLength(1);
  });
});

describe('a page', () => {
  test('shows the whole block in one request', async () => {
    expect(await page()).toMatchObject({ state: 'there', isWhole: true, rows: [{ hash: '0' }, { hash: '1' }, {}] });
    expect(asked).toEqual([OWN]);
  });

  test.each([
    [9, true],
    [10, false],
    [99, true],
    [100, false],
    [256, false],
    [500, false],
    [999, true],
    [1000, false],
    [1001, false],
  ])('of a block of %i transactions is surely whole: %s', async (count, isWhole) => {
    transactions = count;
    expect(await page()).toMatchObject({ state: 'there', isWhole });
  });

  test('that is empty is a missing block, also from the cache', async () => {
    transactions = 0;
    expect([await page(true), await page(true)].map((each) => each && each !== 'refused' && each.state)).toEqual([
      'absent',
      'absent',
    ]);
    transactions = 3;
    // It was kept a moment ago.
    expect(await page()).toMatchObject({ state: 'absent' });
    monotonicNow += 101;
    epochNow += 101;
    expect(await page()).toMatchObject({ state: 'there' });
  });

  test('with a row that is not final is ignored', async () => {
    isFinal = false;
    expect(await page()).toBe(undefined);
  });

  test.each(['seqno=7', 'seqno=7&limit=256&offset=0'])(
    'in the form of scanners, %s, is taken from memory',
    async (form) => {
      loadedBy(form);
      expect(await page()).toMatchObject({ state: 'there', isWhole: true });
      expect([asked, rows]).toEqual([[], []]);
      await page(true);
      expect(asked).toEqual([OWN]);
    },
  );

  test.each([
    ['seqno=7', 100],
    ['seqno=7', 10],
    ['seqno=7', 50],
    ['seqno=7&limit=256&offset=0', 256],
    ['seqno=7&limit=256&offset=0', 300],
    ['seqno=7&limit=256&offset=0', 128],
    ['seqno=7&limit=255', 3],
  ])('in the form %s is not taken for a block of %i transactions', async (form, count) => {
    transactions = count;
    loadedBy(form);
    expect(await page()).toMatchObject({ state: 'there', rows: { length: count } });
    expect(asked).toEqual([OWN]);
  });
});

describe('the head of another instance', () => {
  const HEAD = { seqno: SEQNO, askedAt: 49_900, indexer: '', isShared: true } as const;
  let turns: object[];
  let sharedHeads: unknown[];

  beforeEach(() => {
    turns = [];
    sharedHeads = [];
    shared = {
      next: async () => (turns.shift() ?? { token: 'own' }) as typeof HEAD,
      share: (turn, head) => void sharedHeads.push([turn, head]),
      end: (turn) => void sharedHeads.push([turn, 'ended']),
    };
    source = newSource();
  });

  test('is taken without a request', async () => {
    turns.push(HEAD);
    expect(await source.head(SEQNO)).toEqual(HEAD);
    expect([asked, needed]).toEqual([[], 1]);
  });

  test('is not there: the own one is requested and shared, whatever memory has', async () => {
    await source.head(-1);
    epochNow += 50;
    expect(await source.head(-1)).toMatchObject({ seqno: SEQNO });
    expect(asked).toHaveLength(2);
    const head = { seqno: SEQNO, indexer: '', askedAt: ASKED_AT };
    expect(sharedHeads).toEqual([1, 2].map(() => [{ token: 'own' }, head]));
  });

  test('is not shared if the own one belongs to an indexer that has not named its chain: the turn ends', async () => {
    from = UNNAMED;
    expect(await source.head(-1)).toBe(undefined);
    expect(sharedHeads).toEqual([[{ token: 'own' }, 'ended']]);
  });

  test('is not looked for after a low one: the indexer is asked', async () => {
    turns.push(HEAD, HEAD);
    expect(await source.head(SEQNO + 1)).toEqual(HEAD);
    expect(await source.head(SEQNO + 1)).not.toHaveProperty('isShared');
    expect(asked).toHaveLength(1);
  });
});

test('the head and the newest blocks are requested where the known head is, because one that is behind is often free', async () => {
  await source.head(70);
  await source.newest(70);
  await source.newest(-1);
  expect(seqnos).toEqual([70, 70, undefined]);
});

describe('an answer of an indexer that has not named its chain is no answer', () => {
  test('when it is a head, a list of the newest blocks, a block, or a page', async () => {
    from = UNNAMED;
    const answers = [
      await source.head(-1),
      await source.newest(-1),
      await source.count(SEQNO),
      await page(),
      await page(true),
    ];
    expect(answers).toEqual(answers.map(() => undefined));
    expect(asked).toHaveLength(answers.length);
  });

  test('when it is in memory: the indexer is asked again', async () => {
    from = UNNAMED;
    await page(true);
    await source.head(-1);
    from = OURS;
    expect(await page()).toMatchObject({ state: 'there' });
    expect(await source.head(-1)).toMatchObject({ seqno: SEQNO });
  });
});

describe('the rows of a page count', () => {
  test('when it was requested for the follower', async () => {
    await page();
    await page(true);
    expect(rows).toEqual([3, 3]);
  });

  test('neither from memory nor when a client requested it', async () => {
    isJoined = true;
    await page();
    await page(true);
    await page();
    expect(rows).toEqual([3]);
  });
});

const EPOCH_MS = 1_700_000_000_000;
const NOW_MS = 100_000;
const ROW = { account: '0:AA', lt: '1', hash: '1', now: 1, mc_block_seqno: 7 };
const BODY = Buffer.from(JSON.stringify({ transactions: [ROW] }));

/** A block that the follower finds in the cache. */
const pageOf = (entry: Partial<Entry>, meta: Partial<Entry['meta']> = {}) => {
  const cached = anEntry({ body: BODY, meta: { answerClass: 'final-page', ...meta }, ...entry });
  const used = {
    network: 'mainnet',
    cache: { lookInMemory: () => ({ state: 'fresh', tier: 'memory', entry: cached }) },
    bodies: { readBlocks: async (body: Buffer) => blockFactsIn(body) },
    now: () => EPOCH_MS + NOW_MS,
    monotonic: () => NOW_MS,
  };
  // The cast: an answer in the cache needs only these dependencies.
  return new IndexerBlocks(used as unknown as IndexerBlocksDependencies).page(7, 0, 1000, false);
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
  expect(await pageOf(entry, meta)).toMatchObject({ state: 'there', askedAt, isWhole: true });
});
