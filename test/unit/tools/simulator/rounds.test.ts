import { describe, expect, test } from 'vitest';
import { makeAccount } from '../../../../src/tools/simulator/accounts.ts';
import { blockOf, blocksOf, masterchainSeqnosOf } from '../../../../src/tools/simulator/blocks.ts';

const ROUNDS = Array.from({ length: 50 }, (_, n) => 62_000_000 + n);
const ACCOUNTS = [0, 64, 128, 255].map((first) => makeAccount('wallet', Buffer.alloc(32, first)));

describe('rounds of the simulated chain', () => {
  test('have no shard block, 4, 9, which makes 10 blocks, or 99, which makes 100', () => {
    expect(new Set(ROUNDS.map((seqno) => blocksOf(seqno).length))).toEqual(new Set([1, 5, 10, 100]));
  });

  test('have blocks with names of their own, which lead back to the round', () => {
    const blocks = ROUNDS.flatMap((round) => blocksOf(round).map((block) => ({ round, block })));
    expect(new Set(blocks.map(({ block }) => JSON.stringify(block))).size).toBe(blocks.length);
    for (const { round, block } of blocks) expect(masterchainSeqnosOf(block.seqno)).toContain(round);
  });

  test('have the transactions of each account in one of their blocks', () => {
    for (const round of ROUNDS) {
      for (const account of ACCOUNTS) expect(blocksOf(round)).toContainEqual(blockOf(account, round));
    }
  });
});
