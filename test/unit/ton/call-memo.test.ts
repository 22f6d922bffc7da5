import { describe, expect, test } from 'vitest';
import { parseTarget } from '../../../src/http/parse-request.ts';
import { CallMemo } from '../../../src/ton/call-memo.ts';
import { usedHeapBytes } from '../../support/collect-garbage.ts';
import { ACCOUNT, HASH_HEX, operationNamed } from './requests.ts';

const MIB = 1024 ** 2;
const shards = operationNamed('masterchainBlockShards');
const traces = operationNamed('pendingTraces');

describe('a remembered spelling', () => {
  test('applies to its operation only', () => {
    const memo = new CallMemo('mainnet');
    memo.remember(memo.read(traces, `account=${ACCOUNT}`, {}));
    expect(() => memo.read(shards, `account=${ACCOUNT}`, {})).toThrow(/seqno/);
  });

  test('is not used for a request with a header that changes the answer', () => {
    const memo = new CallMemo('mainnet');
    const plain = memo.read(traces, `account=${ACCOUNT}`, {});
    memo.remember(plain);
    const bare = memo.read(traces, `account=${ACCOUNT}`, { 'x-no-metadata': 'true' });
    memo.remember(bare);
    expect(bare.key).not.toBe(plain.key);
    expect(memo.read(traces, `account=${ACCOUNT}`, {}).key).toBe(plain.key);
  });

  test('is recalled under each name of its operation', () => {
    const memo = new CallMemo('mainnet');
    const query = `address=${ACCOUNT}&include_boc=true`;
    const read = memo.read(operationNamed('addressInformation'), query, {});
    memo.remember(read);
    for (const name of ['addressInformation', 'account']) expect(memo.recall(`${name}?${query}`)?.key).toBe(read.key);
    for (const name of ['wallet', 'walletInformation']) expect(memo.recall(`${name}?${query}`)).toBe(undefined);
  });

  test('is not kept for a query of more than 300 characters', () => {
    const memo = new CallMemo('mainnet');
    for (const [more, isKnown] of [
      ['', true],
      [`&${'_'.repeat(300)}=1`, false],
    ] as const) {
      memo.remember(memo.read(shards, `seqno=7${more}`, {}));
      expect(memo.recall(`masterchainBlockShards?seqno=7${more}`) !== undefined).toBe(isKnown);
    }
  });
});

// In V8 a substring keeps its whole string in memory: here that would be 150 MiB of request targets.
test.each(['', '&supported_action_types=jetton_transfer'])(
  'remembered spellings take less than 40 MiB, because they do not keep the targets that contained them: %j',
  (more) => {
    const memo = new CallMemo('mainnet');
    const before = usedHeapBytes();
    for (let index = 0; index < 10_000; index++) {
      const target = `http://${'a'.repeat(15_500)}/api/v3/pendingTraces?ext_msg_hash=${HASH_HEX}&_=${index}${more}`;
      // As in node:http, the target is one flat string of its own: `toString` makes one of the concatenated parts.
      const { rawQuery } = parseTarget(Buffer.from(target).toString('latin1'));
      memo.remember(memo.read(traces, rawQuery, {}));
    }
    expect(usedHeapBytes() - before).toBeLessThan(40 * MIB);
    expect(memo.read(traces, `ext_msg_hash=${HASH_HEX}`, {}).call.operation).toBe(traces);
  },
);
