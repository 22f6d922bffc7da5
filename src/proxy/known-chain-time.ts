import { SHOWN_HOLDS_MS } from './chain-head.ts';

/** What is known of the chain time. Both instants are epoch milliseconds, 0 while nothing is known. */
export interface KnownChainTime {
  /** The newest time that the chain has reached. */
  readonly newestAt: number;
  /** When the indexer last showed a time that is not older than that, by the clock that instances share. */
  readonly shownAt: number;
}

/** What is known before the indexer has shown any time. */
export const NOTHING_KNOWN: KnownChainTime = { newestAt: 0, shownAt: 0 };

/**
 * What is known by both: the newer time, unless it was last shown more than 60 s before the other one. Then the indexer
 * was set back, and the other one is right. `shared-chain-time.ts` holds the same rule for Redis; a property test
 * compares the two.
 */
export function mergeKnown(one: KnownChainTime, other: KnownChainTime): KnownChainTime {
  const [earlier, later] = one.shownAt <= other.shownAt ? [one, other] : [other, one];
  return earlier.newestAt > later.newestAt && isHeld(earlier, later.shownAt) ? earlier : later;
}

/** Whether the time still counts at `now`, whatever older time the indexer shows: replicas differ. */
export function isHeld({ shownAt }: KnownChainTime, now: number): boolean {
  return now - shownAt <= SHOWN_HOLDS_MS;
}

/** The same with `shownAt` no later than `now`: a clock that was set back must not make a time hold for longer. */
export function shownBy(now: number, known: KnownChainTime): KnownChainTime {
  return known.shownAt <= now ? known : { newestAt: known.newestAt, shownAt: now };
}
