import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../../src/simulator/accounts.ts';
import { type BlockId, blockOf, masterchainBlock, shardBlocks } from '../../../src/simulator/blocks.ts';
import { Chain } from '../../../src/simulator/chain.ts';
import { renderBlock } from '../../../src/simulator/render-block.ts';
import { renderTransaction } from '../../../src/simulator/render-transaction.ts';
import { allTransactions, chainAt, START, seqnos } from './chain-at.ts';

// By the rule of the chain: the bits of the address above the lowest 1 bit of the shard are those of the shard.
function holds({ shard }: BlockId, { hash }: Account): boolean {
  const prefix = BigInt(`0x${shard}`);
  const lowestBit = prefix & -prefix;
  return (prefix ^ hash.readBigUInt64BE(0)) / (2n * lowestBit) === 0n;
}

function renderBlockSet(chain: Chain, seqno: number): string {
  const blockSet = chain.block(seqno);
  if (blockSet === undefined) throw new Error(`masterchain block ${seqno} is not there`);
  const blocks = blockSet.blocks.map((block) => renderBlock(block, blockSet));
  const transactions = blockSet.transactions.map((transaction) => renderTransaction(transaction, 'finalized', '1.3'));
  return JSON.stringify({ blocks, transactions });
}

function allBlocks(chain: Chain): string {
  return seqnos(chain)
    .map((seqno) => renderBlockSet(chain, seqno))
    .join('\n');
}

describe('the simulated chain', () => {
  it('is the same for the same seed, in whatever steps its time goes on', () => {
    const whole = allBlocks(chainAt(40));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3000 }), { maxLength: 40 }), (steps) => {
        const chain = new Chain({ startAt: START });
        let instant = START;
        for (const step of steps) {
          instant = Math.min(instant + step, START + 16_000);
          chain.advanceTo(instant);
        }
        chain.advanceTo(START + 16_000);
        expect(allBlocks(chain)).toBe(whole);
      }),
      { numRuns: 20 },
    );
  });

  it('is another one for another seed', () => {
    expect(allBlocks(chainAt(5, { seed: 2 }))).not.toBe(allBlocks(chainAt(5)));
  });

  it('commits a masterchain block every block time, and never goes back', () => {
    const chain = chainAt(0, { firstSeqno: 100 });
    expect(chain.headSeqno).toBe(100);
    chain.advanceTo(START + 399);
    expect(chain.headSeqno).toBe(100);
    chain.advanceTo(START + 400);
    expect(chain.headSeqno).toBe(101);
    chain.advanceTo(START);
    expect(chain.headSeqno).toBe(101);
    expect(chain.block(102)).toBeUndefined();
  });

  it('commits 1 to 4 shard blocks with a masterchain block, and every account is in exactly one of them', () => {
    const chain = chainAt(0);
    const counts = new Set<number>();
    for (let seqno = 62_000_000; seqno < 62_000_160; seqno += 10) {
      const shards = shardBlocks(seqno);
      counts.add(shards.length);
      expect(new Set(shards.map(({ shard }) => shard)).size).toBe(shards.length);
      for (const account of chain.accounts.all) {
        const holders =
          account.workchain === -1 ? [masterchainBlock(seqno)] : shards.filter((id) => holds(id, account));
        expect([blockOf(account, seqno)]).toEqual(holders);
      }
    }
    expect([...counts].sort()).toEqual([1, 2, 3, 4]);
  });

  it('has traces of 1 to 12 transactions, some of them in the masterchain, and all of them in blocks', () => {
    const chain = chainAt(400);
    const transactions = allTransactions(chain);
    const sizes = new Set(chain.recentTraces(500).map((trace) => trace.transactions.length));
    expect(Math.min(...sizes)).toBe(1);
    expect(Math.max(...sizes)).toBe(12);
    expect(transactions.some(({ account, parent }) => account.workchain === -1 && parent !== undefined)).toBe(true);
    for (const trace of chain.recentTraces(500)) {
      if (trace.goneAt > chain.now) continue;
      for (const transaction of trace.transactions) expect(chain.transaction(transaction.hash)).toBe(transaction);
    }
  });

  it('has for every child an earlier parent that lists it among its children', () => {
    const chain = chainAt(300);
    let children = 0;
    for (const child of allTransactions(chain)) {
      if (child.parent === undefined) continue;
      children++;
      const parent = chain.parent(child.hash);
      expect(parent).toBeDefined();
      expect(parent?.lt).toBeLessThan(child.lt);
      expect(parent?.seqno).toBeLessThanOrEqual(child.seqno);
      expect(parent?.account).toBe(child.inMessage?.source);
      expect(chain.children(child.parent.hash)).toContain(child);
    }
    expect(children).toBeGreaterThan(500);
  });

  it('puts every transaction into a block of its block set, in the order of logical times', () => {
    const chain = chainAt(200);
    for (const seqno of seqnos(chain)) {
      const blockSet = chain.block(seqno);
      const lts = blockSet?.transactions.map(({ lt }) => lt) ?? [];
      expect(lts.length).toBeGreaterThan(0);
      expect(lts).toEqual([...new Set(lts)].sort((a, b) => a - b));
      for (const { block } of blockSet?.transactions ?? []) expect(blockSet?.blocks).toContainEqual(block);
    }
  });

  it('never changes a finalized masterchain block', () => {
    const chain = chainAt(30);
    const then = new Map(seqnos(chain).map((seqno) => [seqno, renderBlockSet(chain, seqno)]));
    chain.advanceTo(chain.now + 300_000);
    for (const [seqno, rendered] of then) expect(renderBlockSet(chain, seqno)).toBe(rendered);
  });

  it('has nothing below its history floor, and keeps no more than its window', () => {
    const chain = chainAt(10, { historyBlocks: 50, firstSeqno: 1000 });
    const [transaction] = chain.block(1000)?.transactions ?? [];
    const [trace] = chain.recentTraces();
    if (transaction === undefined || trace === undefined) throw new Error('an empty chain');
    chain.advanceTo(START + 400 * 500);
    expect(chain.floorSeqno).toBe(1500 - 49);
    expect(chain.block(1450)).toBeUndefined();
    expect(chain.block(1451)).toBeDefined();
    expect(chain.transaction(transaction.hash)).toBeUndefined();
    expect(chain.trace(trace.externalHash)).toBeUndefined();
    expect(chain.recentTraces(10_000).length).toBeLessThan(50 * 4 + 100);
  });
});

describe('a chain whose masterchain blocks become visible out of order', () => {
  it('shows some masterchain blocks after their successors, and then always', () => {
    const chain = chainAt(20, { outOfOrder: true });
    const late = Array.from({ length: 5 }, (_, n) => chain.headSeqno + 1 + n).find((seqno) => seqno % 5 === 3) ?? 0;
    chain.advanceTo(chain.clock.committedAt(late + 1));
    expect(chain.headSeqno).toBe(late + 1);
    expect(chain.block(late)).toBeUndefined();
    chain.advanceTo(chain.clock.committedAt(late + 3));
    expect(chain.block(late)?.seqno).toBe(late);
  });
});
