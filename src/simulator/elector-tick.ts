import type { Account } from './accounts.ts';
import { masterchainBlock } from './blocks.ts';
import type { RoundClock } from './round-clock.ts';
import { digest } from './seeded-random.ts';
import type { Transaction } from './trace.ts';

/** The elector's own transaction: every masterchain block has one, so no round is empty. */
export function electorTick(seqno: number, clock: RoundClock, elector: Account, seed: number): Transaction {
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
