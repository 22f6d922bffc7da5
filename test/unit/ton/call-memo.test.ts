import { describe, expect, test } from 'vitest';
import { ProxyError } from '../../../src/errors.ts';
import { CallMemo, type KeyedCall } from '../../../src/ton/call-memo.ts';
import { findOperation, type Operation } from '../../../src/ton/operations.ts';

function operation(name: string): Operation {
  const found = findOperation(`/api/v3/${name}`);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

const shards = operation('masterchainBlockShards');
const traces = operation('pendingTraces');
const ACCOUNT = `0:${'A'.repeat(64)}`;

/** Reads a call and has it remembered. */
function readAndRemember(memo: CallMemo, rawQuery: string): KeyedCall {
  const read = memo.read(shards, rawQuery, {});
  memo.remember(read);
  return read;
}

describe('a remembered spelling', () => {
  test('returns the same call without parsing again', () => {
    const memo = new CallMemo('mainnet');
    const first = readAndRemember(memo, 'seqno=7');
    const known = memo.read(shards, 'seqno=7', {});
    expect(known).toMatchObject({ call: first.call, key: first.key });
    memo.remember(known);
    expect(memo.read(shards, 'seqno=7', {})).toBe(known);
  });

  test('is one that was marked as worth remembering', () => {
    const memo = new CallMemo('mainnet');
    expect(memo.read(shards, 'seqno=7', {})).not.toBe(memo.read(shards, 'seqno=7', {}));
  });

  test('counts for one operation only', () => {
    const memo = new CallMemo('mainnet');
    memo.remember(memo.read(traces, `account=${ACCOUNT}`, {}));
    expect(() => memo.read(shards, `account=${ACCOUNT}`, {})).toThrow(ProxyError);
  });

  test('never hides a header that changes the answer', () => {
    const memo = new CallMemo('mainnet');
    const plain = memo.read(traces, `account=${ACCOUNT}`, {});
    memo.remember(plain);
    const bare = memo.read(traces, `account=${ACCOUNT}`, { 'x-no-metadata': 'true' });
    memo.remember(bare);
    expect(bare.key).not.toBe(plain.key);
    expect(memo.read(traces, `account=${ACCOUNT}`, {}).key).toBe(plain.key);
  });
});

test('an invalid request is refused each time', () => {
  const memo = new CallMemo('mainnet');
  for (let time = 0; time < 2; time++) expect(() => memo.read(shards, 'seqno=x', {})).toThrow(/seqno/);
});

test('a long query is not remembered', () => {
  const memo = new CallMemo('mainnet');
  const query = `seqno=7&${'_'.repeat(300)}=1`;
  const first = readAndRemember(memo, query);
  expect(memo.read(shards, query, {})).not.toBe(memo.read(shards, query, {}));
  expect(memo.read(shards, query, {})).toEqual(first);
});
