import { beforeEach, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../src/cache/tiered-cache.ts';
import { IndexerOwners } from '../../../src/proof/indexer-owners.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { anEntry } from '../../support/entry.ts';

const SEQNO = 7;
const FLIGHT = { isAbandoned: false, signal: AbortSignal.any([]), clients: new Set<string>(), depart: () => {} };

let body: unknown;
let seqnos: (number | undefined)[];
let asked: string[];
let loaded: [Call, string][];
let inMemory: Lookup;
let needed: number;
let owners: IndexerOwners;

beforeEach(() => {
  asked = [];
  loaded = [];
  inMemory = { state: 'miss' };
  needed = 0;
  seqnos = [];
  owners = new IndexerOwners({
    network: 'main',
    admission: {
      enter: async ({ seqno }) => {
        seqnos.push(seqno);
        return { free: () => {} } as never;
      },
    },
    ask: async ({ call }, keep) => {
      const { operation, request } = call;
      asked.push(`${operation.name}?${request.query.map((pair) => pair.join('=')).join('&')}`);
      const entry = anEntry({ body: Buffer.from(JSON.stringify(body)), meta: { indexer: 'one' } });
      return keep({ entry } as Parameters<typeof keep>[0]);
    },
    cache: { lookInMemory: () => inMemory, set: () => ({ outcome: 'stored' }) },
    flights: {
      hasWaitingFlight: () => false,
      join: async (_, __, load) => ({ state: 'landed', value: await load(FLIGHT), collapsed: false }),
    },
    load: async (call, key) => {
      loaded.push([call, key]);
      const entry = anEntry({ body: Buffer.from(JSON.stringify(body)), meta: { indexer: 'two' } });
      return { kind: 'hit', entry, tier: 'redis' };
    },
    timeoutMs: 1000,
    onAnswered: () => {},
    onNeeded: () => void needed++,
  });
});

describe('a look-up of jetton wallets', () => {
  const wallet = { address: '0:a', owner: '0:b', jetton: '0:c', balance: '0', last_transaction_lt: '7' };

  test('requests all accounts at once, and reads rows in upper case', async () => {
    body = { jetton_wallets: [wallet] };
    const rows = [{ address: '0:A', owner: '0:B', jetton: '0:C', lt: 7n, isZero: true }];
    expect(await owners.wallets(['0:A', '0:D'], SEQNO, false)).toEqual({
      rows,
      lts: new Map([['0:A', 7n]]),
      indexer: 'one',
    });
    expect(asked).toEqual(['jetton/wallets?address=0:A&address=0:D&limit=1000']);
  });

  test('goes to an indexer that has the block, like one of states', async () => {
    body = { jetton_wallets: [] };
    await owners.wallets(['0:A'], SEQNO, false);
    await owners.states(['0:A'], SEQNO);
    expect(seqnos).toEqual([SEQNO, SEQNO]);
  });

  test('reads an empty list in both forms', async () => {
    for (const list of [[], null]) {
      body = { jetton_wallets: list };
      expect(await owners.wallets(['0:A'], SEQNO, false)).toMatchObject({ rows: [] });
    }
  });

  test.each([
    [{}],
    [{ jetton_wallets: {} }],
    [{ jetton_wallets: [{ ...wallet, owner: null }] }],
    [{ jetton_wallets: [{ ...wallet, last_transaction_lt: 7 }] }],
    ['text'],
  ])('is of no use with the body %j', async (answer) => {
    body = answer;
    expect(await owners.wallets(['0:A'], SEQNO, false)).toBe(undefined);
  });
});

describe('a look-up of states', () => {
  const accounts = [
    { address: '0:a', last_transaction_lt: '7' },
    { address: '0:d', last_transaction_lt: '8' },
  ];
  const extra = { owner: '0:b', jetton: '0:c', balance: '5' };
  const wallet = (info: object) => ({ '0:a': { is_indexed: true, token_info: [{ type: 'jetton_wallets', ...info }] } });

  test('takes the owners from the metadata', async () => {
    body = { accounts, metadata: wallet({ extra }) };
    const lts = new Map([
      ['0:A', 7n],
      ['0:D', 8n],
    ]);
    const rows = [{ address: '0:A', owner: '0:B', jetton: '0:C', lt: 7n, isByState: true, isZero: false }];
    expect(await owners.states(['0:A', '0:D'], SEQNO)).toEqual({ rows, lts, indexer: 'one' });
    expect(asked).toEqual(['accountStates?address=0:A&address=0:D&include_boc=false']);
  });

  test('shows no wallet if the metadata is about other accounts and other kinds of tokens', async () => {
    const master = { is_indexed: true, token_info: [{ type: 'jetton_masters', extra: {} }] };
    body = { accounts, metadata: { '0:D': master, '0:E': wallet({ extra })['0:a'], '0:A': { is_indexed: false } } };
    expect(await owners.states(['0:A', '0:D'], SEQNO)).toMatchObject({ rows: [] });
  });

  test.each([
    [{ accounts }],
    [{ accounts, metadata: null }],
    [{ accounts, metadata: [] }],
    [{ accounts, metadata: wallet({}) }],
    [{ accounts, metadata: wallet({ extra: { ...extra, owner: null } }) }],
    [{ accounts: null, metadata: {} }],
    [{ accounts: [{ address: '0:a' }], metadata: {} }],
  ])('is of no use with the body %j', async (answer) => {
    body = answer;
    expect(await owners.states(['0:A'], SEQNO)).toBe(undefined);
  });
});

describe('the first look-up of a block', () => {
  beforeEach(() => {
    body = {
      jetton_wallets: [{ address: '0:a', owner: '0:b', jetton: '0:c', balance: '0', last_transaction_lt: '7' }],
    };
  });

  test('goes through the cache, without evidence, a retention, or a tag', async () => {
    expect(await owners.wallets(['0:D', '0:A'], SEQNO, true)).toMatchObject({ rows: [{ lt: 7n }], indexer: 'two' });
    const [call, key] = loaded[0] ?? [];
    expect(key).toBe(
      'main jetton/wallets?address=0:D&address=0:A&limit=1000&X-No-Address-Book:true&X-No-Metadata:true',
    );
    expect([call?.operation.evidence, call?.operation.touchedBy, call?.operation.retention, call?.tags]).toEqual([
      undefined,
      undefined,
      undefined,
      [],
    ]);
    expect(call?.operation.masterchainSeqno?.(call.request)).toBe(SEQNO);
    expect(asked).toEqual([]);
  });

  test('counts as needed if another instance has sent it, and not if memory has it', async () => {
    await owners.wallets(['0:A'], SEQNO, true);
    expect(needed).toBe(1);
    inMemory = { state: 'fresh', entry: anEntry({ body: Buffer.from(JSON.stringify(body)) }), tier: 'memory' };
    await owners.wallets(['0:A'], SEQNO, true);
    expect([needed, loaded.length]).toEqual([1, 1]);
  });
});
