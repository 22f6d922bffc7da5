import { beforeEach, describe, expect, test } from 'vitest';
import { IndexerOwners } from '../../../src/proof/indexer-owners.ts';
import { anEntry } from '../../support/entry.ts';

let body: unknown;
let asked: string[];
let owners: IndexerOwners;

beforeEach(() => {
  asked = [];
  owners = new IndexerOwners({
    network: 'main',
    admission: { enter: async () => ({ free: () => {} }) as never },
    indexers: {
      ask: async ({ call }, keep) => {
        const { operation, request } = call;
        asked.push(`${operation.name}?${request.query.map((pair) => pair.join('=')).join('&')}`);
        const entry = anEntry({ body: Buffer.from(JSON.stringify(body)), meta: { indexer: 'one' } });
        return keep({ entry } as Parameters<typeof keep>[0]);
      },
    },
    onAnswered: () => {},
  });
});

describe('a look-up of jetton wallets', () => {
  const wallet = { address: '0:a', owner: '0:b', jetton: '0:c', balance: '0', last_transaction_lt: '7' };

  test('requests all accounts at once, and reads rows in upper case', async () => {
    body = { jetton_wallets: [wallet] };
    const rows = [{ address: '0:A', owner: '0:B', jetton: '0:C', lt: 7n, isZero: true }];
    expect(await owners.wallets(['0:A', '0:D'])).toEqual({ rows, lts: new Map([['0:A', 7n]]), indexer: 'one' });
    expect(asked).toEqual(['jetton/wallets?address=0:A&address=0:D&limit=1000']);
  });

  test('reads an empty list in both forms', async () => {
    for (const list of [[], null]) {
      body = { jetton_wallets: list };
      expect(await owners.wallets(['0:A'])).toMatchObject({ rows: [] });
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
    expect(await owners.wallets(['0:A'])).toBe(undefined);
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
    expect(await owners.states(['0:A', '0:D'])).toEqual({ rows, lts, indexer: 'one' });
    expect(asked).toEqual(['accountStates?address=0:A&address=0:D&include_boc=false']);
  });

  test('shows no wallet if the metadata is about other accounts and other kinds of tokens', async () => {
    const master = { is_indexed: true, token_info: [{ type: 'jetton_masters', extra: {} }] };
    body = { accounts, metadata: { '0:D': master, '0:E': wallet({ extra })['0:a'], '0:A': { is_indexed: false } } };
    expect(await owners.states(['0:A', '0:D'])).toMatchObject({ rows: [] });
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
    expect(await owners.states(['0:A'])).toBe(undefined);
  });
});
