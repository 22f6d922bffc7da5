import type { Chain } from '../../src/tools/simulator/chain.ts';
import type { LiteServer } from '../../src/tools/simulator/indexer.ts';
import type { Call } from './call.ts';

/** A lite server is ahead of the indexer, or behind it, by up to this, ms. */
export const LITE_SERVER_MS = 8000;

/** The time in which each of them goes from one end to the other and back, ms. */
const PERIODS_MS = [37_000, 53_000, 71_000];

/** Some lite servers behind one address, one for each request, whose lags change. Their time never goes backwards. */
export function liteServersOf(chain: () => Chain): () => LiteServer {
  let turn = 0;
  return () => {
    const periodMs = PERIODS_MS[turn++ % PERIODS_MS.length] ?? 1;
    const now = Date.now();
    const place = (now % periodMs) / periodMs;
    const aheadMs = LITE_SERVER_MS * (4 * Math.abs(place - 0.5) - 1);
    return { chain: chain(), at: now + aheadMs };
  };
}

/** The longest time that the indexer took for a transaction of the contract, of those of the last two minutes, ms. */
export function indexedAfterMs({ accounts = [] }: Call, chain: Chain): number {
  const recent = accounts.flatMap(({ address }) => chain.executed(address)).slice(-100);
  return Math.max(0, ...recent.map(({ seqno }) => chain.indexedAt(seqno) - chain.clock.committedAt(seqno)));
}
