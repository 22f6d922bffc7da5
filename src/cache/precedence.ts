import { type Entry, FINGERPRINT_BYTES, type Richness } from './entry.ts';

/** What becomes of an answer beside the one that is kept: it takes the place, or why it does not. */
export type Precedence = 'replaces' | 'older' | 'poorer';

/** So long a richer answer stands against poorer ones; then they are believed: a history can be wrong. */
export const CLAIM_MS = 10 * 60_000;

/**
 * Judges `next` beside `kept`, both of one key, at `now` (epoch ms). A poorer answer is that of a replica which lags
 * behind: a 404 where there was an answer, fewer children. Of equal answers the one that was asked for later is right.
 * `redis-store.ts` holds the same rule for Redis; a property test compares the two.
 */
export function precedenceOver(kept: Entry, next: Entry, now: number): Precedence {
  switch (compareRichness(next.richness, kept.richness)) {
    case 'richer':
      return 'replaces';
    case 'equal':
      return next.askedAt < kept.askedAt ? 'older' : 'replaces';
    case 'poorer':
      if (next.askedAt < kept.askedAt) return 'older';
      return kept.poorerSince !== undefined && now - kept.poorerSince >= CLAIM_MS ? 'replaces' : 'poorer';
  }
}

/** The richer answer for one more lifetime, after a poorer one came at `now`; its age goes on. */
export function rested(kept: Entry, now: number): Entry {
  const freshUntil = Math.max(kept.freshUntil, now + kept.lifetimeMs);
  const laterMs = freshUntil - kept.freshUntil;
  return {
    ...kept,
    freshUntil,
    staleWhileRevalidateUntil: kept.staleWhileRevalidateUntil + laterMs,
    staleIfErrorUntil: kept.staleIfErrorUntil + laterMs,
    poorerSince: kept.poorerSince ?? now,
  };
}

type Comparison = 'richer' | 'equal' | 'poorer';

/**
 * What is listed counts first, the rank second: an answer that lists a child more is no poorer for that child being
 * pending. Where two answers differ only in what is tentative, neither is richer: a pending child can come, and can be
 * invalidated. Where one of them lists nothing (a 404, a block list) the rank decides alone.
 */
function compareRichness(next: Richness, kept: Richness): Comparison {
  const [listed, known] = [listOf(next), listOf(kept)];
  if (listed.all.size > 0 && known.all.size > 0) {
    if (!known.lasting.isSubsetOf(listed.all)) return 'poorer';
    if (!listed.lasting.isSubsetOf(known.all)) return 'richer';
    if (listed.all.symmetricDifference(known.all).size > 0) return 'equal';
  }
  if (next.rank === kept.rank) return 'equal';
  return next.rank > kept.rank ? 'richer' : 'poorer';
}

interface Listed {
  readonly lasting: ReadonlySet<bigint>;
  readonly all: ReadonlySet<bigint>;
}

function listOf({ members, tentative }: Richness): Listed {
  const lasting = setOf(members);
  return { lasting, all: lasting.union(setOf(tentative)) };
}

function setOf(fingerprints: Buffer): Set<bigint> {
  const set = new Set<bigint>();
  for (let at = 0; at + FINGERPRINT_BYTES <= fingerprints.length; at += FINGERPRINT_BYTES)
    set.add(fingerprints.readBigUInt64BE(at));
  return set;
}
