/**
 * The two instants that decide the use of an answer, in epoch milliseconds, and its durations, in whole milliseconds:
 * V8 allocates 16 bytes for each number that is not small and whole. `askedAt <= freshUntil`.
 */
export interface Instants {
  /** The instant of the request to the indexer: `Age` counts from it, and it decides which of two answers is newer. */
  readonly askedAt: number;
  /** End of the lifetime, which began when the answer was received. */
  readonly freshUntil: number;
  /** For this time after `freshUntil` a stale copy is served immediately while one refresh runs (RFC 5861 3). */
  readonly staleWhileRevalidate: number;
  /**
   * For this time after `freshUntil` a stale copy is served when the indexer fails or a request is refused (RFC 5861 4).
   */
  readonly staleIfError: number;
  /** From the receipt of the answer to `freshUntil`; an extended entry lives for this time once more. */
  readonly lifetime: number;
}

/**
 * The time for which an answer is kept after its use, to be compared with the next one: if that is less complete, the
 * kept answer is served instead. In milliseconds.
 */
export interface Retention {
  readonly afterUse: number;
  /** An answer is kept after its use for at most this time since the indexer sent it. */
  readonly sinceGiven: number;
}

/**
 * Why a kept answer is not proven. `not-checked`: its transactions could not be read.
 * `not-alive`: not all blocks that existed a second ago are known to be read. `not-settled`: or the owners of the jetton
 * wallets in them are not known. `too-old`: it is older than its bound.
 * `asked-too-early`: blocks were skipped, or transactions forgotten, since its request or shortly before. `touched`: it
 * lacks a transaction of its accounts that was seen since then. Of a result of a get-method also: `asked-once`: no earlier
 * answer since the last transaction was the same. `answers-differ`: this method gave different answers without one.
 */
export type ProofDoubt =
  | ('not-checked' | 'not-alive' | 'not-settled' | 'too-old' | 'asked-too-early' | 'touched')
  | ('asked-once' | 'answers-differ');

/**
 * The judge of a kept answer about accounts, by the transactions that this instance has seen in blocks and answers
 * (`proof/proofs.ts`). Kept only in memory, and asked at each look-up.
 */
export interface Proof {
  /** The reason why the answer is not proven now; `undefined` if it is: then it is served after its lifetime, too. */
  readonly doubt: ProofDoubt | undefined;
  /**
   * True if a transaction was seen since its request, and by `at` (monotonic, by default now), that it lacks: then it
   * is not served within its lifetime either.
   */
  isOutdated(at?: number): boolean;
  /**
   * Takes the judge of another answer to the same request, requested before or after this one. `isEqual`: both have the
   * same content. Absent if other answers prove nothing about this one.
   */
  compare?(other: Proof, isEqual: boolean): void;
  /** An equal answer was requested this long before this one, in milliseconds; `undefined` if none is known. */
  readonly equalMs?: number | undefined;
  /** It is never proven for longer than this after its request, in milliseconds: it is kept for this long. */
  readonly keptMs: number;
  /** The memory that it takes. */
  readonly bytes: number;
}

/** The parts of an answer that decide how long it is kept. */
export interface Retained extends Instants {
  /** The time in whole seconds for which other caches had the answer before it was received. */
  readonly ageValueSeconds: number;
  readonly meta: { readonly retention?: Retention | undefined };
  /** The answer is of use as long as it can be proven. */
  readonly proof: Proof | undefined;
}

/** The clocks of two instances on one Redis differ by less than this, in milliseconds. */
const CLOCKS_DIFFER_BY_MS = 1000;

/**
 * True if an answer was dated by another clock, which was ahead: then its age is unknown, and it counts as absent. An
 * extended answer is also dated by its last extension. Redis' clock dates all answers of its instances, and may be set
 * back.
 */
export function isDatedAhead(answer: Instants & { readonly regressedSince: number | undefined }, now: number): boolean {
  const { askedAt, freshUntil, lifetime, regressedSince } = answer;
  const latest = now + CLOCKS_DIFFER_BY_MS;
  return askedAt > latest || (regressedSince !== undefined && freshUntil - lifetime > latest);
}

/** The use of an answer at an instant: the first of these that holds. */
export type Freshness = 'fresh' | 'stale-while-revalidate' | 'stale-if-error' | 'expired';

/** The freshness at `now` (epoch ms). As `now` grows, it only moves down this list. */
export function freshnessOf({ freshUntil, staleWhileRevalidate, staleIfError }: Instants, now: number): Freshness {
  if (now < freshUntil) return 'fresh';
  if (now < freshUntil + staleWhileRevalidate) return 'stale-while-revalidate';
  if (now < freshUntil + staleIfError) return 'stale-if-error';
  return 'expired';
}

/** The instant after which an answer is neither fresh nor stale: it no longer answers a request by itself. */
export function usableUntil({ freshUntil, staleWhileRevalidate, staleIfError }: Instants): number {
  return freshUntil + Math.max(staleWhileRevalidate, staleIfError);
}

/** True if an answer is only for the clients that wait for it: its row in the table of lifetimes has no time at all. */
export function isNeverKept({ lifetime, staleWhileRevalidate, staleIfError }: Instants): boolean {
  return lifetime + staleWhileRevalidate + staleIfError === 0;
}

/** The end of {@link Retention.sinceGiven}; `undefined` for an answer that is not kept after its use. */
export function retentionEnd({ askedAt, ageValueSeconds, meta: { retention } }: Retained): number | undefined {
  return retention && askedAt - ageValueSeconds * 1000 + retention.sinceGiven;
}

/** The instant after which an answer is not even compared. It is stored for longer if blocks can still prove it. */
export function keptUntil(answer: Retained): number {
  const until = usableUntil(answer);
  const end = retentionEnd(answer);
  if (end === undefined) return until;
  const provenUntil = answer.proof === undefined ? until : answer.askedAt + answer.proof.keptMs;
  return Math.max(until, Math.min(Math.max(until, provenUntil) + (answer.meta.retention?.afterUse ?? 0), end));
}

/** `until`, or the end of the time in which an answer can be proven if that is later. */
export function provableUntil({ askedAt, proof }: Retained, until: number): number {
  return proof === undefined ? until : Math.max(until, askedAt + proof.keptMs);
}

/** The instant after which an answer is neither compared nor proven: its copies expire then. */
export function storedUntil(answer: Retained): number {
  return provableUntil(answer, keptUntil(answer));
}
