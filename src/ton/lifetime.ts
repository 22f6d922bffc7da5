import type { Instants } from '../instants.ts';
import type { AnswerClass, Finality, LifetimeRule } from './finality.ts';

/**
 * How long answers of one rule live, in milliseconds, as the settings say it; both stale windows begin when the lifetime
 * ends.
 */
export interface LifetimePolicy {
  readonly lifetime: number;
  /** How long a memory copy answers before Redis is asked again; never longer than the lifetime. */
  readonly memoryTtl: number;
  /** RFC 5861 3; never longer than the lifetime. */
  readonly staleWhileRevalidate: number;
  /** RFC 5861 4, and when a request is shed. */
  readonly staleIfError: number;
}

/** A growing answer lives a part of its age: the older its youngest child, the less likely another one becomes. */
export interface GrowingPolicy extends Omit<LifetimePolicy, 'lifetime'> {
  readonly shortestLifetime: number;
  readonly longestLifetime: number;
  /** The lifetime is the age divided by this. */
  readonly ageDivisor: number;
}

/** The table of lifetimes: one row per rule. */
export type LifetimePolicies = Readonly<
  Record<Exclude<LifetimeRule, 'adjacentGrowing'>, LifetimePolicy> & {
    readonly adjacentGrowing: GrowingPolicy;
    /** How long pending traces are fresh in memory while a stream would announce each change. */
    readonly pendingWatched: number;
  }
>;

/** When an answer came to be. Epoch milliseconds. */
export interface AnswerInstants {
  readonly askedAt: number;
  readonly receivedAt: number;
  /** The newest time that the chain in the indexer is known to have reached; `undefined` where nothing showed it. */
  readonly chainAt: number | undefined;
}

/** The instants of an entry, and what clients get. */
export interface Lifetime extends Instants {
  /** The longest that a client may keep the answer after it was sent; 0 for what clients must not keep. */
  readonly maxAgeSeconds: number;
  /** Whether a later {@link AnswerInstants.chainAt} would make the lifetime longer. */
  readonly gainsByChainTime: boolean;
}

/** From this lifetime up, entries stored together are spread over up to a tenth of it, so that they do not end together. */
const JITTER_FROM_MS = 10_000;
const JITTER_SHARE = 0.1;

/** The longest that clients may keep an answer, by class: a purge does not reach them, nor does what changes meanwhile. */
const LONGEST_KEPT_BY_CLIENTS_SECONDS: Record<AnswerClass, number> = {
  final: 3600,
  'final-page': 3600,
  growing: 60,
  live: 0,
  absent: 0,
};

/**
 * Turns the finality of an answer into instants. The lifetime starts when the answer was received, shortened by up to 10 % by
 * `random` (0 to 1).
 */
export function lifetimeOf(
  finality: Finality,
  policies: LifetimePolicies,
  instants: AnswerInstants,
  random: () => number,
): Lifetime {
  const { receivedAt, chainAt } = instants;
  const windows = policies[finality.rule];
  const lifetime = lengthOf(finality, policies, receivedAt, chainAt);
  const longest = lengthOf(finality, policies, receivedAt, receivedAt);
  const jitterMs = lifetime < JITTER_FROM_MS ? 0 : Math.floor(random() * JITTER_SHARE * lifetime);
  const keptMs = lifetime - jitterMs;
  const freshUntil = receivedAt + keptMs;
  return {
    askedAt: instants.askedAt,
    freshUntil,
    staleWhileRevalidateUntil: freshUntil + Math.min(windows.staleWhileRevalidate, lifetime),
    staleIfErrorUntil: freshUntil + windows.staleIfError,
    memoryTtl: Math.min(windows.memoryTtl, keptMs),
    lifetime: keptMs,
    maxAgeSeconds: Math.min(Math.floor(keptMs / 1000), LONGEST_KEPT_BY_CLIENTS_SECONDS[finality.answerClass]),
    gainsByChainTime: longest > lifetime,
  };
}

/** How long after it was received an answer can be of any use, in milliseconds. */
export function longestUseMs({ adjacentGrowing, pendingWatched, ...policies }: LifetimePolicies): number {
  const growing = { ...adjacentGrowing, lifetime: adjacentGrowing.longestLifetime };
  return Math.max(
    pendingWatched,
    ...[growing, ...Object.values(policies)].map(
      (policy) => policy.lifetime + Math.max(policy.staleWhileRevalidate, policy.staleIfError),
    ),
  );
}

/** In milliseconds. */
function lengthOf(finality: Finality, policies: LifetimePolicies, receivedAt: number, chainAt?: number): number {
  if (finality.rule !== 'adjacentGrowing') return policies[finality.rule].lifetime;
  const { shortestLifetime, longestLifetime, ageDivisor } = policies.adjacentGrowing;
  const grownMs = Math.floor(ageOf(finality, receivedAt, chainAt) / ageDivisor);
  return Math.min(Math.max(grownMs, shortestLifetime), longestLifetime);
}

/**
 * The age of the youngest child in milliseconds, counted from the chain time: an indexer that is an hour behind has an
 * hour-old child since a moment ago. Our clock bounds it, for no chain is ahead of it. 0 where either end is unknown.
 */
function ageOf({ newestNow }: Finality, receivedAt: number, chainAt?: number): number {
  if (newestNow === undefined || chainAt === undefined) return 0;
  return Math.max(0, Math.min(chainAt, receivedAt) - newestNow * 1000);
}
