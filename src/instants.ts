/**
 * The instants that decide what an answer is still good for, in epoch milliseconds, and its two durations, in
 * milliseconds. `askedAt <= freshUntil`; both stale windows begin at `freshUntil`.
 */
export interface Instants {
  /** When the indexer was asked: `Age` counts from here, and decides which of two answers is newer. */
  readonly askedAt: number;
  /** End of the lifetime, which began when the answer was received. */
  readonly freshUntil: number;
  /** Until here a stale copy is served at once while one refresh runs (RFC 5861 3). */
  readonly staleWhileRevalidateUntil: number;
  /** Until here a stale copy is served when the indexer fails or a request is shed (RFC 5861 4). */
  readonly staleIfErrorUntil: number;
  /** How long a memory copy answers before Redis is asked again. */
  readonly memoryTtl: number;
  /** From the receipt of the answer to `freshUntil`; an entry that is extended lives for this once more. */
  readonly lifetime: number;
}

/** What an answer is good for at an instant: the first of these that holds. */
export type Freshness = 'fresh' | 'stale-while-revalidate' | 'stale-if-error' | 'expired';

/** The freshness at `now` (epoch ms). As `now` grows, it only moves down this list. */
export function freshnessOf(instants: Instants, now: number): Freshness {
  if (now < instants.freshUntil) return 'fresh';
  if (now < instants.staleWhileRevalidateUntil) return 'stale-while-revalidate';
  if (now < instants.staleIfErrorUntil) return 'stale-if-error';
  return 'expired';
}

/** The instant after which an answer is of no use: its copies in Redis and memory expire then. */
export function usableUntil(instants: Instants): number {
  return Math.max(instants.staleWhileRevalidateUntil, instants.staleIfErrorUntil);
}

/** A copy whose lifetime ends at another instant (epoch ms). Both stale windows keep their length and move with it. */
export function endingAt<I extends Pick<Instants, 'freshUntil' | 'staleWhileRevalidateUntil' | 'staleIfErrorUntil'>>(
  instants: I,
  at: number,
): I {
  const laterBy = at - instants.freshUntil;
  return {
    ...instants,
    freshUntil: at,
    staleWhileRevalidateUntil: instants.staleWhileRevalidateUntil + laterBy,
    staleIfErrorUntil: instants.staleIfErrorUntil + laterBy,
  };
}
