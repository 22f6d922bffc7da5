import type { Chain } from './chain.ts';
import type { AnsweringChain } from './question.ts';
import { knownTransactions } from './trace.ts';

/** Pending traces are among so many newest ones: a trace lives for seconds, and some five a second begin. */
const TRACES_BACK = 400;

/**
 * A chain as it was at an instant (epoch ms) that it has already reached: an indexer that is asked through this view says
 * what it said then.
 */
export function chainAsOf(chain: Chain, instant: number): AnsweringChain {
  const isThere = (seqno: number) => (chain.block(seqno)?.committedAt ?? Number.POSITIVE_INFINITY) <= instant;
  const transaction: AnsweringChain['transaction'] = (hash) => {
    const found = chain.transaction(hash);
    return found !== undefined && isThere(found.seqno) ? found : undefined;
  };
  const pendingTraces: AnsweringChain['pendingTraces'] = () =>
    chain
      .recentTraces(TRACES_BACK)
      .filter(({ emulatedAt, goneAt }) => emulatedAt <= instant && instant < goneAt)
      .toSorted((a, b) => a.emulatedAt - b.emulatedAt || (a.id < b.id ? -1 : 1));
  return {
    now: instant,
    headSeqno: chain.clock.seqnoBy(instant),
    floorSeqno: chain.floorSeqno,
    block: (seqno) => (isThere(seqno) ? chain.block(seqno) : undefined),
    transaction,
    parent: (hash) => {
      const parent = transaction(hash)?.parent;
      return parent === undefined ? undefined : transaction(parent.hash);
    },
    children: (hash) => (transaction(hash)?.children ?? []).filter((child) => transaction(child.hash) !== undefined),
    pendingTraces,
    pendingTracesOf: (address) =>
      pendingTraces().filter((trace) =>
        knownTransactions(trace, instant).some(({ account }) => account.address === address),
      ),
    send: () => {
      throw new Error('nothing can be sent in the past');
    },
  };
}
