import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { blockFactsOf, finalRowsIn } from '../../../src/ton/block-facts.ts';

const ACCOUNT = `0:${'ab'.repeat(32)}`;
const row = (changes: object = {}) => ({
  account: ACCOUNT,
  lt: '47000000000001',
  hash: 'aGFzaA==',
  now: 1_700_000_000,
  mc_block_seqno: 7,
  ...changes,
});

test('counts the transactions of a masterchain block and its shard blocks', () => {
  const blocks = [
    { workchain: -1, seqno: 7, gen_utime: '1700000000', tx_count: 3 },
    { workchain: 0, seqno: 9, gen_utime: '1700000000', tx_count: 40 },
  ];
  expect(blockFactsOf({ blocks })).toEqual({
    transactions: 43,
    rows: undefined,
    blocks: [{ seqno: 7, at: 1_700_000_000 }],
  });
});

test.each([undefined, '3', -1, 1.5, null])(
  'leaves the number of transactions undefined if a block reports %j',
  (tx_count) => {
    const blocks = [
      { workchain: -1, seqno: 7, tx_count: 3 },
      { workchain: 0, seqno: 9, tx_count },
    ];
    expect(blockFactsOf({ blocks }).transactions).toBe(undefined);
  },
);

test('reads rows, with the account in upper case and all 64 bits of the lt', () => {
  const { rows } = blockFactsOf({ transactions: [row({ lt: '18446744073709551615' })] });
  expect(rows).toEqual([
    { account: ACCOUNT.toUpperCase(), lt: 2n ** 64n - 1n, hash: 'aGFzaA==', now: 1_700_000_000, seqno: 7 },
  ]);
});

test.each([
  ['is emulated', { emulated: true }],
  ['is not in a block yet', { mc_block_seqno: 0 }],
  ['has no account', { account: undefined }],
  ['has no hash', { hash: null }],
  ['has an lt that is not a decimal number', { lt: '0x10' }],
  ['has a time that is not a number', { now: '1700000000' }],
])('returns no rows if one of them %s', (_, changes) => {
  expect(blockFactsOf({ transactions: [row(), row(changes)] }).rows).toBe(undefined);
});

test('reads the code of the account after the transaction', () => {
  const { rows } = blockFactsOf({
    transactions: [row({ account_state_after: { code_hash: 'Y29kZQ==' } }), row({ account_state_after: null }), row()],
  });
  expect(rows?.map(({ codeHash }) => codeHash)).toEqual(['Y29kZQ==', undefined, undefined]);
});

describe('the transfer of jettons that a row has received', () => {
  const message = { opcode: '0x0f8a7ea5', source: ACCOUNT, message_content: { body: 'Ym9keQ==' } };
  const transferIn = (changes: object) => blockFactsOf({ transactions: [row(changes)] }).rows?.[0]?.transfer;

  test('has its sender in upper case and its body', () => {
    expect(transferIn({ in_msg: message })).toEqual({ source: ACCOUNT.toUpperCase(), body: 'Ym9keQ==' });
  });

  test('is recognized by its operation code in any spelling', () => {
    for (const opcode of ['0xf8a7ea5', '0x0F8A7EA5', '260734629', 0x0f8a7ea5])
      expect(transferIn({ in_msg: { ...message, opcode } })).toBeDefined();
  });

  test('keeps a missing body', () => {
    for (const content of [null, undefined, { body: null }, {}])
      expect(transferIn({ in_msg: { ...message, message_content: content } })?.body ?? null).toBe(null);
  });

  test('has no sender if it came from outside', () => {
    expect(transferIn({ in_msg: { ...message, source: null } })?.source).toBe(undefined);
  });

  test('counts unless the row shows that it was aborted', () => {
    expect(transferIn({ in_msg: message, description: { aborted: true } })).toBe(undefined);
    for (const description of [{ aborted: false }, {}, null])
      expect(transferIn({ in_msg: message, description })).toBeDefined();
  });

  test.each([
    null,
    undefined,
    {},
    { ...message, opcode: '0x178d4519' },
    { ...message, opcode: null },
    { ...message, opcode: 'transfer' },
  ])('is not %j', (in_msg) => {
    expect(transferIn({ in_msg })).toBe(undefined);
  });
});

test('returns no facts for a body without lists', () => {
  expect(blockFactsOf({ error: 'not found' })).toEqual({ transactions: undefined, rows: undefined, blocks: [] });
});

describe('the final transactions of a body', () => {
  const hashes = (body: JsonObject, from = 7) => finalRowsIn(body, from).map(({ hash }) => hash);
  const [one, two, three] = ['b25l', 'dHdv', 'dGhyZWU='].map((hash) => row({ hash }));

  test('are those of its list of transactions and of its traces', () => {
    const traces = [{ transactions: { two } }, { transactions: { three } }];
    expect(hashes({ transactions: [one], traces })).toEqual(['b25l', 'dHdv', 'dGhyZWU=']);
  });

  test('are those of the given block and later ones', () => {
    const rows = [6, 7, 8].map((seqno) => row({ hash: `${seqno}`, mc_block_seqno: seqno }));
    expect(hashes({ transactions: rows })).toEqual(['7', '8']);
  });

  test('do not include rows that are not final, or lack a field', () => {
    const rows = [row({ emulated: true }), row({ finality: 'pending' }), row({ hash: null }), null, 'row', one];
    expect(hashes({ transactions: rows, traces: [null, { transactions: null }] })).toEqual(['b25l']);
  });

  test.each([{}, { transactions: 'none', traces: {} }])('are none in %j', (body) => {
    expect(hashes(body)).toEqual([]);
  });
});
