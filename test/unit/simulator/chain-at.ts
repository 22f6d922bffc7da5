import { Chain, type ChainOptions } from '../../../src/simulator/chain.ts';
import type { Transaction } from '../../../src/simulator/trace.ts';

export const START = 1_800_000_000_000;

export function chainAt(blocks: number, options: Partial<ChainOptions> = {}): Chain {
  const chain = new Chain({ startAt: START, ...options });
  chain.advanceTo(START + blocks * chain.clock.blockMs);
  return chain;
}

export function seqnos(chain: Chain): number[] {
  return Array.from({ length: chain.headSeqno - chain.floorSeqno + 1 }, (_, n) => chain.floorSeqno + n);
}

export function allTransactions(chain: Chain): readonly Transaction[] {
  return seqnos(chain).flatMap((seqno) => chain.block(seqno)?.transactions ?? []);
}
