import { retentionEnd, usableUntil } from '../freshness.ts';
import { type Completeness, type Entry, FINGERPRINT_BYTES, HIGHEST_CLASS_RANK, STATE_BYTES } from './entry.ts';

/** An answer replaces the kept one, or the reason why it does not. */
export type Precedence = 'replaces' | 'older' | 'regressed';

/**
 * After 10 minutes of only regressed answers the indexer's version is accepted: the kept answer may be wrong. If the
 * first regressed answer came after the use of the kept one, the version is accepted when the retention of the kept
 * answer ends.
 */
export const ACCEPTED_AFTER_MS = 10 * 60_000;

/** The newest named block counts for 60 s, as in `Head`: the indexer may have been restored. */
export const HEAD_ACCEPTED_AFTER_MS = 60_000;

/**
 * Gives up freshness for 10 minutes: an indexer that takes back a true answer (after a rollback, or a repair of its
 * database) is not believed until only such answers have come for that long, or a purge. For that a client never sees a
 * transaction vanish because its next request reached a replica that lags, which happens every day. Neither the instant
 * of an answer nor the indexer's name tells the two apart; what the answer contains does.
 *
 * Decides whether `next` replaces `kept`, both of one key, at `now` (epoch ms). A less complete answer (a 404 after an
 * answer, fewer children) counts as the regression of a lagging replica. Of two equally complete answers the one that
 * was requested later is right. But if the kept answer is no longer usable, any equally complete answer replaces it.
 */
export function precedenceOver(kept: Entry, next: Entry, now: number): Precedence {
  switch (compareCompleteness(next.completeness, kept.completeness)) {
    case 'more':
      return 'replaces';
    case 'equal':
      return next.askedAt < kept.askedAt && now < usableUntil(kept) ? 'older' : 'replaces';
    case 'less': {
      const acceptedAfterMs = kept.completeness.rank > HIGHEST_CLASS_RANK ? HEAD_ACCEPTED_AFTER_MS : ACCEPTED_AFTER_MS;
      if (next.askedAt < kept.askedAt) return 'older';
      const since = regressedSince(kept, now);
      return now >= (endAfterUse(kept, since) ?? since + acceptedAfterMs) ? 'replaces' : 'regressed';
    }
  }
}

/**
 * Gives the kept answer one more lifetime, because a regressed one came at `now`. Its age still counts from `askedAt`.
 * If the kept answer was past its own stale windows, the new lifetime and windows end with its retention.
 */
export function extended(kept: Entry, now: number): Entry {
  const since = regressedSince(kept, now);
  const end = endAfterUse(kept, since) ?? Number.POSITIVE_INFINITY;
  const freshUntil = Math.max(kept.freshUntil, Math.min(now + kept.lifetime, end));
  const windowUntilEnd = (window: number) => Math.max(0, Math.min(window, Math.floor(end - freshUntil)));
  return {
    ...kept,
    freshUntil,
    staleWhileRevalidate: windowUntilEnd(kept.staleWhileRevalidate),
    staleIfError: windowUntilEnd(kept.staleIfError),
    regressedSince: since,
  };
}

/**
 * The time since which only regressed answers have come, one of them at `now`. It starts again for an answer that is
 * kept after its use.
 */
function regressedSince(kept: Entry, now: number): number {
  const isAfterUse = kept.meta.retention !== undefined && usableUntil(kept) <= now;
  return isAfterUse ? now : (kept.regressedSince ?? now);
}

/** When the retention of an answer ends, if all regressed answers came after its own use. */
function endAfterUse(kept: Entry, since: number): number | undefined {
  const ownUseUntil = kept.askedAt + kept.lifetime + Math.max(kept.staleWhileRevalidate, kept.staleIfError);
  const end = retentionEnd(kept);
  return end !== undefined && ownUseUntil <= since && ownUseUntil < end ? end : undefined;
}

/** The completeness of the next answer, compared with the kept one. */
export type Comparison = 'more' | 'equal' | 'less';

/**
 * The order counts first: an older state never replaces a newer one. If the orders are equal, or one of them could not be
 * read, the listed rows count, then the rank: an answer with one more child is not less complete because that child is
 * pending. If two answers differ only in tentative rows, neither is more complete: a pending child can appear and can
 * be invalidated. If one of them has no rows (a 404, a block list), only the rank decides. If everything so far is
 * equal, the answer with a row that lacks the state of its account is less complete.
 */
export function compareCompleteness(next: Completeness, kept: Completeness): Comparison {
  const { order } = next;
  const { order: knownOrder } = kept;
  if (order !== undefined && knownOrder !== undefined && order !== knownOrder)
    return order > knownOrder ? 'more' : 'less';
  if (next.states !== undefined && kept.states !== undefined) return compareStates(next.states, kept.states);
  // Nearly always both have the same rows.
  const isSameList = next.members.equals(kept.members) && next.tentative.equals(kept.tentative);
  const [listed, known] = isSameList ? [NOTHING, NOTHING] : [listOf(next), listOf(kept)];
  if (listed.all.size > 0 && known.all.size > 0) {
    if (!known.lasting.isSubsetOf(listed.all)) return 'less';
    if (!listed.lasting.isSubsetOf(known.all)) return 'more';
    if (listed.all.symmetricDifference(known.all).size > 0) return 'equal';
  }
  if (next.rank !== kept.rank) return next.rank > kept.rank ? 'more' : 'less';
  if (next.lacksStates === kept.lacksStates) return 'equal';
  return next.lacksStates ? 'less' : 'more';
}

/**
 * An older list shows an account with an earlier transaction, and none with a later one. A missing account says nothing:
 * it may be new, or gone.
 */
function compareStates(next: Buffer, kept: Buffer): Comparison {
  const known = new Map(statesIn(kept));
  let [isEarlier, isLater] = [false, false];
  for (const [account, lt] of statesIn(next)) {
    const knownLt = known.get(account) ?? lt;
    isEarlier ||= lt < knownLt;
    isLater ||= lt > knownLt;
  }
  if (isEarlier === isLater) return 'equal';
  return isLater ? 'more' : 'less';
}

function statesIn(states: Buffer): (readonly [account: bigint, lt: bigint])[] {
  const count = states.length / STATE_BYTES;
  return Array.from({ length: count }, (_, at) => [
    states.readBigUInt64BE(STATE_BYTES * at),
    states.readBigUInt64BE(STATE_BYTES * at + FINGERPRINT_BYTES),
  ]);
}

interface Listed {
  readonly lasting: ReadonlySet<bigint>;
  readonly all: ReadonlySet<bigint>;
}

const NOTHING: Listed = { lasting: new Set(), all: new Set() };

function listOf({ members, tentative }: Completeness): Listed {
  const lasting = setOf(members);
  return { lasting, all: lasting.union(setOf(tentative)) };
}

function setOf(fingerprints: Buffer): Set<bigint> {
  const set = new Set<bigint>();
  for (let at = 0; at + FINGERPRINT_BYTES <= fingerprints.length; at += FINGERPRINT_BYTES)
    set.add(fingerprints.readBigUInt64BE(at));
  return set;
}
