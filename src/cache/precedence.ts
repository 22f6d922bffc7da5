import { endingAt } from '../instants.ts';
import { type Completeness, type Entry, FINGERPRINT_BYTES } from './entry.ts';

/** What becomes of an answer beside the one that is kept: it takes the place, or why it does not. */
export type Precedence = 'replaces' | 'older' | 'regressed';

/** After so long with nothing but regressed answers the indexer is believed: the kept answer may be the wrong one. */
export const REGRESSION_GUARD_MS = 10 * 60_000;

/**
 * Decides whether `next` replaces `kept`, both of one key, at `now` (epoch ms). An answer that is less complete is taken
 * for a regression by a replica that lags behind: a 404 where there was an answer, fewer children. Of equally complete
 * answers the one that was asked for later is right.
 * `redis-store.ts` holds the same rule for Redis; a property test compares the two.
 */
export function precedenceOver(kept: Entry, next: Entry, now: number): Precedence {
  switch (compareCompleteness(next.completeness, kept.completeness)) {
    case 'more':
      return 'replaces';
    case 'equal':
      return next.askedAt < kept.askedAt ? 'older' : 'replaces';
    case 'less':
      if (next.askedAt < kept.askedAt) return 'older';
      return kept.regressedSince !== undefined && now - kept.regressedSince >= REGRESSION_GUARD_MS
        ? 'replaces'
        : 'regressed';
  }
}

/** The kept answer for one more lifetime, after a regressed one came at `now`; its age goes on. */
export function extended(kept: Entry, now: number): Entry {
  const longer = endingAt(kept, Math.max(kept.freshUntil, now + kept.lifetime));
  return { ...longer, regressedSince: kept.regressedSince ?? now };
}

/** Whether the next answer is more or less complete than the kept one. */
type Comparison = 'more' | 'equal' | 'less';

/**
 * What is listed counts first, the rank second: an answer that lists a child more is not less complete because that child is
 * pending. Where two answers differ only in what is tentative, neither is more complete: a pending child can come, and can be
 * invalidated. Where one of them lists nothing (a 404, a block list) the rank decides alone.
 */
function compareCompleteness(next: Completeness, kept: Completeness): Comparison {
  // Nearly always it is the same list again.
  const isSameList = next.members.equals(kept.members) && next.tentative.equals(kept.tentative);
  const [listed, known] = isSameList ? [NOTHING, NOTHING] : [listOf(next), listOf(kept)];
  if (listed.all.size > 0 && known.all.size > 0) {
    if (!known.lasting.isSubsetOf(listed.all)) return 'less';
    if (!listed.lasting.isSubsetOf(known.all)) return 'more';
    if (listed.all.symmetricDifference(known.all).size > 0) return 'equal';
  }
  if (next.rank === kept.rank) return 'equal';
  return next.rank > kept.rank ? 'more' : 'less';
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
