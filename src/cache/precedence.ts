import { type Entry, FINGERPRINT_BYTES, type Richness } from './entry.ts';

/** What becomes of an answer beside the one that is kept: it takes the place, or why it does not. */
export type Precedence = 'replaces' | 'older' | 'poorer';

/** So long a richer answer stands against poorer ones; then they are believed: a history can be wrong. */
export const CLAIM_MS = 10 * 60_000;

/**
 * Judges `next` beside `kept`, both of one key, at `now` (epoch ms). A poorer answer is that of a replica which lags
 * behind: a 404 where there was an answer, fewer children. Of equal answers the one that was asked for later is right.
 * `redis-store.ts` holds the same rule for Redis.
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

function compareRichness(next: Richness, kept: Richness): 'richer' | 'equal' | 'poorer' {
  if (next.rank !== kept.rank) return next.rank > kept.rank ? 'richer' : 'poorer';
  if (next.members.equals(kept.members)) return 'equal';
  const listed = memberSet(next);
  const known = memberSet(kept);
  if (!known.isSubsetOf(listed)) return 'poorer';
  return listed.size > known.size ? 'richer' : 'equal';
}

function memberSet({ members }: Richness): Set<bigint> {
  const set = new Set<bigint>();
  for (let at = 0; at + FINGERPRINT_BYTES <= members.length; at += FINGERPRINT_BYTES)
    set.add(members.readBigUInt64BE(at));
  return set;
}
