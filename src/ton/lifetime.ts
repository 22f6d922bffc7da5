import type { Instants } from '../freshness.ts';
import type { AnswerClass, Finality, LifetimeRule } from './finality.ts';

/** The settings of one rule, in milliseconds. Both stale windows begin when the lifetime ends. */
export interface LifetimePolicy {
  readonly lifetime: number;
  /** How long a stale copy is served while it is refreshed (RFC 5861 3); never longer than the lifetime. */
  readonly staleWhileRevalidate: number;
  /** How long a stale copy is served when the indexer fails (RFC 5861 4) or a request is shed. */
  readonly staleIfError: number;
}

/**
 * The lifetime of a growing answer is a fraction of its age: the older its youngest child, the less likely is another
 * one.
 */
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
    /** How long an empty list of pending traces is fresh in memory while a stream would announce the next trace. */
    readonly emptyWatched: number;
  }
>;

/** The times that the lifetime of an answer is computed from: instants in epoch milliseconds. */
export interface AnswerInstants {
  readonly askedAt: number;
  readonly receivedAt: number;
  /** The chain time; `undefined` while it is not known. */
  readonly chainAt: number | undefined;
  /** How long other caches have had the answer, in whole seconds. */
  readonly ageValueSeconds: number;
}

/** The instants of an entry, and what clients get. */
export interface Lifetime extends Instants {
  /** How long a client may keep the answer at most; 0: clients must not keep it. */
  readonly maxAgeSeconds: number;
}

/**
 * Longer lifetimes are shortened by a random part of up to a tenth, so that entries stored together do not end
 * together.
 */
const JITTER_FROM_MS = 10_000;
const JITTER_SHARE = 0.1;

/**
 * What is left of a lifetime that other caches have used up, so that the answer is not asked for again at once; a shorter
 * lifetime is left whole.
 */
const LEAST_LEFT_MS = 1000;

/**
 * The longest that clients may keep an answer, by class. Neither a purge nor a change of the answer reaches their
 * copies.
 */
const LONGEST_KEPT_BY_CLIENTS_SECONDS: Record<AnswerClass, number> = {
  final: 3600,
  'final-page': 3600,
  growing: 60,
  live: 0,
  absent: 0,
};

/**
 * Turns the finality of an answer into instants. The lifetime starts when the answer was received, and is shorter by
 * the time that other caches have had it (RFC 9111 4.2), but {@link LEAST_LEFT_MS} is left of it; `random` (0 to 1) shortens
 * a lifetime of 10 s or more by up to 10 %.
 */
export function lifetimeOf(
  finality: Finality,
  policies: LifetimePolicies,
  instants: AnswerInstants,
  random: () => number,
): Lifetime {
  const { receivedAt, chainAt, ageValueSeconds } = instants;
  const windows = policies[finality.rule];
  const whole = lengthOf(finality, policies, receivedAt, chainAt);
  const lifetime = Math.max(whole - ageValueSeconds * 1000, Math.min(whole, LEAST_LEFT_MS));
  const jitterMs = lifetime < JITTER_FROM_MS ? 0 : Math.floor(random() * JITTER_SHARE * lifetime);
  const keptMs = lifetime - jitterMs;
  return {
    askedAt: instants.askedAt,
    freshUntil: receivedAt + keptMs,
    staleWhileRevalidate: Math.min(windows.staleWhileRevalidate, lifetime),
    staleIfError: windows.staleIfError,
    lifetime: keptMs,
    maxAgeSeconds: Math.min(Math.floor(keptMs / 1000), LONGEST_KEPT_BY_CLIENTS_SECONDS[finality.answerClass]),
  };
}

/** The longest time after its receipt in which any answer is of use, in milliseconds. */
export function longestUseMs({ adjacentGrowing, emptyWatched, ...policies }: LifetimePolicies): number {
  const growing = { ...adjacentGrowing, lifetime: adjacentGrowing.longestLifetime };
  return Math.max(
    emptyWatched,
    ...[growing, ...Object.values(policies)].map(
      (policy) => policy.lifetime + Math.max(policy.staleWhileRevalidate, policy.staleIfError),
    ),
  );
}

/** The lifetime before jitter, in milliseconds. */
function lengthOf(finality: Finality, policies: LifetimePolicies, receivedAt: number, chainAt?: number): number {
  if (finality.rule !== 'adjacentGrowing') return policies[finality.rule].lifetime;
  const { shortestLifetime, longestLifetime, ageDivisor } = policies.adjacentGrowing;
  const grownMs = Math.floor(ageOf(finality, receivedAt, chainAt) / ageDivisor);
  return Math.min(Math.max(grownMs, shortestLifetime), longestLifetime);
}

/**
 * The age of the youngest child in milliseconds, counted to the chain time: an indexer that is an hour behind commits
 * hour-old children now. The time of receipt bounds the chain time. 0 where the child's time or the chain time is
 * unknown.
 */
function ageOf({ newestNow }: Finality, receivedAt: number, chainAt?: number): number {
  if (newestNow === undefined || chainAt === undefined) return 0;
  return Math.max(0, Math.min(chainAt, receivedAt) - newestNow * 1000);
}
