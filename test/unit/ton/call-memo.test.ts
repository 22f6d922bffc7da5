import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { CallMemo } from '../../../src/ton/call-memo.ts';
import { findOperation, type Operation } from '../../../src/ton/operations.ts';

function operation(name: string): Operation {
  const found = findOperation(`/api/v3/${name}`);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

const shards = operation('masterchainBlockShards');
const traces = operation('pendingTraces');
const ACCOUNT = `0:${'A'.repeat(64)}`;

describe('a remembered spelling', () => {
  test('is the same call, not parsed again', () => {
    const memo = new CallMemo('mainnet', () => 0);
    expect(memo.read(shards, 'seqno=7', {})).toBe(memo.read(shards, 'seqno=7', {}));
  });

  test('is forgotten with its key when the epoch changes', () => {
    let epoch = 0;
    const memo = new CallMemo('mainnet', () => epoch);
    const before = memo.read(shards, 'seqno=7', {});
    epoch = 1_700_000_000_000;
    const after = memo.read(shards, 'seqno=7', {});
    expect(after.key).toBe(before.key.replace(' 0 ', ' 1700000000000 '));
    expect(memo.read(shards, 'seqno=7', {})).toBe(after);
  });

  test('is of one operation only', () => {
    const memo = new CallMemo('mainnet', () => 0);
    memo.read(traces, `account=${ACCOUNT}`, {});
    expect(() => memo.read(shards, `account=${ACCOUNT}`, {})).toThrow(ProxyError);
  });

  test('never hides a header that changes the answer', () => {
    const memo = new CallMemo('mainnet', () => 0);
    const plain = memo.read(traces, `account=${ACCOUNT}`, {});
    const bare = memo.read(traces, `account=${ACCOUNT}`, { 'x-no-metadata': 'true' });
    expect(bare.key).not.toBe(plain.key);
    expect(memo.read(traces, `account=${ACCOUNT}`, {}).key).toBe(plain.key);
  });
});

test('what is invalid is refused each time', () => {
  const memo = new CallMemo('mainnet', () => 0);
  for (let round = 0; round < 2; round++) expect(() => memo.read(shards, 'seqno=x', {})).toThrow(/seqno/);
});

test('a long query is not remembered', () => {
  const memo = new CallMemo('mainnet', () => 0);
  const query = `seqno=7&${'_'.repeat(300)}=1`;
  expect(memo.read(shards, query, {})).not.toBe(memo.read(shards, query, {}));
  expect(memo.read(shards, query, {})).toEqual(memo.read(shards, query, {}));
});
