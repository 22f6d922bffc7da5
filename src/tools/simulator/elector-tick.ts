import type { Account } from './accounts.ts';
import type { BlockClock } from './block-clock.ts';
import { masterchainBlock } from './blocks.ts';
import { digest } from './seeded-random.ts';
import type { Transaction } from './trace.ts';

/** The elector's own transaction: every masterchain block has one, so none is empty. */
export function electorTick(seqno: number, clock: BlockClock, elector: Account, seed: number): Transaction {
  const committedAt = clock.committedAt(seqno);
  return {
    hash: digest(seed, 'tick', seqno),
    account: elector,
    inMessage: undefined,
    parent: undefined,
    children: [],
    seqno,
    block: masterchainBlock(seqno),
    lt: clock.nextLt(seqno),
    now: Math.floor(committedAt / 1000),
    emulatedAt: committedAt,
    confirmedAt: committedAt,
    finalizedAt: committedAt,
  };
}
