import type { Instants, Retention } from '../freshness.ts';
import type { Finality } from './finality.ts';
import { type AnswerClass, type GrowingPolicy, type LifetimePolicies, ROWS } from './lifetime-table.ts';

/**
 * For operations where a replica may lag. Clients poll every 2 to 4 s and come back within 10 s, and an overtaken
 * answer is not shown for longer than a minute.
 */
export const WHILE_REPLICAS_LAG: Retention = { afterUse: 10_000, sinceGiven: 60_000 };

/** A block may be committed this much after a later one, in milliseconds by the chain time. */
const OUT_OF_ORDER_MS = 10_000;

/** The times from which the lifetime of an answer is computed: instants in epoch milliseconds. */
export interface AnswerInstants {
  readonly askedAt: number;
  readonly receivedAt: number;
  /** The chain time; `undefined` while it is unknown. */
  readonly chainAt: number | undefined;
  /** The time in whole seconds for which other caches have had the answer. */
  readonly ageValueSeconds: number;
}

/** The instants of an entry, and the `max-age` for clients. */
export interface Lifetime extends Instants {
  /** The longest time for which a client may keep the answer; 0: clients must not keep it. */
  readonly maxAgeSeconds: number;
}

/**
 * Longer lifetimes are shortened by a random part of up to a tenth, so that entries stored together do not end
 * together.
 */
const JITTER_FROM_MS = 10_000;
const JITTER_SHARE = 0.1;

/**
 * At least this much remains of a lifetime that other caches have used up, so that the answer is not requested again
 * immediately. A shorter lifetime stays whole.
 */
const LEAST_REMAINING_MS = 1000;

/**
 * The longest time for which clients may keep an answer, by class. Neither a purge nor a change of the answer reaches
 * their copies.
 */
const LONGEST_KEPT_BY_CLIENTS_SECONDS: Record<AnswerClass, number> = {
  final: 3600,
  'final-page': 3600,
  growing: 60,
  live: 0,
  absent: 0,
};

/**
 * The finality of an answer at its age: an answer with a row that can be filled in while it is young is growing until
 * then.
 */
export function finalityAtAge(finality: Finality, { receivedAt, chainAt }: AnswerInstants): Finality {
  const { whileYoung: rule } = finality;
  const isYoung = rule !== undefined && ageOf(finality, receivedAt, chainAt) < OUT_OF_ORDER_MS;
  return isYoung ? { ...finality, rule } : finality;
}

/**
 * Turns the finality of an answer at its age into instants. The lifetime starts when the answer was received. It is
 * shorter by the time in other caches (RFC 9111 4.2), but at least {@link LEAST_REMAINING_MS} of it remain. `random` (0
 * to 1) shortens a lifetime of 10 s or more by up to 10 %.
 */
export function lifetimeOf(
  finality: Finality,
  policies: LifetimePolicies,
  instants: AnswerInstants,
  random: () => number,
): Lifetime {
  const { receivedAt, chainAt, ageValueSeconds } = instants;
  const windows = policies[finality.rule];
  const whole =
    'ageDivisor' in windows ? grownLifetime(windows, ageOf(finality, receivedAt, chainAt)) : windows.lifetime;
  const lifetime = Math.max(whole - ageValueSeconds * 1000, Math.min(whole, LEAST_REMAINING_MS));
  const jitterMs = lifetime < JITTER_FROM_MS ? 0 : Math.floor(random() * JITTER_SHARE * lifetime);
  const keptMs = lifetime - jitterMs;
  return {
    askedAt: instants.askedAt,
    freshUntil: receivedAt + keptMs,
    staleWhileRevalidate: Math.min(windows.staleWhileRevalidate, lifetime),
    staleIfError: windows.staleIfError,
    lifetime: keptMs,
    maxAgeSeconds: Math.min(
      Math.floor(keptMs / 1000),
      LONGEST_KEPT_BY_CLIENTS_SECONDS[ROWS[finality.rule].answerClass],
    ),
  };
}

/** The longest time after its receipt for which any answer is of use, in milliseconds. */
export function longestUseMs(policies: LifetimePolicies): number {
  return Math.max(
    ...Object.values(policies).map((policy) => {
      const lifetime = 'ageDivisor' in policy ? policy.maxLifetime : policy.lifetime;
      return lifetime + Math.max(policy.staleWhileRevalidate, policy.staleIfError);
    }),
  );
}

/** The lifetime of a growing answer of this age before jitter, in milliseconds. */
function grownLifetime({ minLifetime, maxLifetime, ageDivisor }: GrowingPolicy, ageMs: number): number {
  return Math.min(Math.max(Math.floor(ageMs / ageDivisor), minLifetime), maxLifetime);
}

/**
 * The age, in milliseconds, of the youngest row that counts, up to the chain time: an indexer that is an hour behind
 * commits hour-old rows now. The time of receipt bounds the chain time. 0 if the row's time or the chain time is
 * unknown.
 */
function ageOf({ newestNow }: Finality, receivedAt: number, chainAt?: number): number {
  if (newestNow === undefined || chainAt === undefined) return 0;
  return Math.max(0, Math.min(chainAt, receivedAt) - newestNow * 1000);
}
