import { type Freshness, freshnessOf, isDatedAhead, isNeverKept, keptUntil, usableUntil } from '../freshness.ts';
import type { EpochMs } from '../time-units.ts';
import { type Entry, HIGHEST_CLASS_RANK } from './entry.ts';
import type { MemoryTier } from './memory-tier.ts';
import type { OlderAnswers } from './older-answers.ts';
import { extended, precedenceOver } from './precedence.ts';
import type { LeaseRequest, RedisTier } from './redis-tier.ts';

/**
 * The entry of a key in both tiers. `proven`: its lifetime is over, and blocks prove that it is still true.
 * `stale-if-error` is a miss with a fallback. A miss with `kept` has no fallback, but an answer to compare with the
 * loaded one.
 */
export type Lookup =
  | {
      readonly state: Exclude<Freshness, 'expired'> | 'proven';
      readonly entry: Entry;
      readonly tier: 'memory' | 'redis';
    }
  | { readonly state: 'miss'; readonly kept?: Entry };

/** The entry in the result of a look-up, usable or only kept. */
export function foundIn(found: Lookup): Entry | undefined {
  return found.state === 'miss' ? found.kept : found.entry;
}

/** The outcome of a store. `never-kept`: its row has no lifetime. `kept` is the entry that the cache holds instead; a regressed answer extends it. */
export type StoreOutcome =
  | { readonly outcome: 'stored' | 'never-kept' | 'expired' | 'too-large' | 'purged' }
  | { readonly outcome: 'regressed' | 'superseded'; readonly kept: Entry };

/** An entry, and the use that a look-up would make of it. */
export type FoundEntry = Exclude<Lookup, { state: 'miss' }>;

/** The entry of a key in each tier, in Redis only if it is usable. `failed`: Redis did not answer in time, or not all purges are known. */
export interface Inspected {
  readonly memory: Lookup;
  readonly redis: FoundEntry | 'absent' | 'failed' | 'not configured';
}

/** The cache's view of purges. */
export interface KnownPurges {
  readonly bans: {
    /** The entry with these tags, or `undefined` if it is purged. */
    applyBans(entry: Entry, tags: readonly string[]): Entry | undefined;
  };
  /** True if all purges up to now are known: entries in Redis may be used. */
  readonly isCurrent: boolean;
}

/** The lease of a key, as the write of its entry sees it. */
export interface WritersLease {
  /** Names this lease in Redis: an answer that is stored with it is stored by its holder. */
  readonly token: string;
  /**
   * Call when a write has begun that ends the lease. If it stores the entry (`true`), it has ended the lease itself;
   * otherwise the lease is ended after it.
   */
  endsWith(write: Promise<boolean>): void;
}

/** Optional arguments of a store. */
export interface StoreHints {
  /** The result of the look-up, in case memory does not hold the entry. */
  readonly known?: Entry | undefined;
  /** The lease under which `known` was read. Its holder must still end it if no write begins. */
  readonly lease?: WritersLease | undefined;
}

export interface TieredCacheDependencies {
  readonly memory: MemoryTier;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: RedisTier | undefined;
  readonly purges: KnownPurges;
  /** True if the chain is known to have reached a masterchain block. */
  readonly hasReached: (seqno: number) => boolean;
  /** Called with the block of each head that Redis returns and no purge covers: clients may read it. */
  readonly onHead?: (seqno: number) => void;
  readonly olderAnswers: Pick<OlderAnswers, 'look'>;
  /**
   * Takes the transactions in an entry from Redis before it is kept or served, and returns the entry with its judge.
   * Absent if no answers are proven.
   */
  readonly judge?: ((entry: Entry, tags: readonly string[]) => Entry | Promise<Entry>) | undefined;
  readonly now: () => EpochMs;
}

/**
 * Memory in front of Redis: an entry that memory may still serve costs no Redis call. Callers give the tags by which a
 * purge can name the entry. Never throws.
 */
export class TieredCache {
  readonly #dependencies: TieredCacheDependencies;

  constructor(dependencies: TieredCacheDependencies) {
    this.#dependencies = dependencies;
  }

  lookInMemory(key: string, tags: readonly string[], now = this.#dependencies.now()): Lookup {
    const entry = this.#dependencies.memory.get(key, now);
    return entry === undefined ? { state: 'miss' } : this.#lookupOf(entry, tags, 'memory', now);
  }

  /**
   * The better entry of both tiers, with one read from Redis; memory keeps the entry from Redis. Immediate without
   * Redis.
   */
  lookUp(key: string, tags: readonly string[]): Lookup | Promise<Lookup> {
    const { redis, purges } = this.#dependencies;
    if (redis === undefined) return this.lookInMemory(key, tags);
    return redis.get(key).then((read) => {
      // Only bans that are known by now are applied to the entry.
      return read.state === 'found' && purges.isCurrent
        ? this.#takeFromRedis(read.entry, tags)
        : this.lookInMemory(key, tags);
    });
  }

  /**
   * Looks into Redis again and tries to get the lease of the key, in one step. `holder`: the value of another
   * instance's lease. Resolves with `undefined` when Redis fails, or not all purges are known: the lease may be ours
   * even then.
   */
  async acquire(
    key: string,
    tags: readonly string[],
    request: LeaseRequest,
  ): Promise<{ holder: string | undefined; found: Lookup } | undefined> {
    const { redis, purges } = this.#dependencies;
    const acquired = await redis?.acquire(key, request);
    if (acquired === undefined || !purges.isCurrent) return undefined;
    const { holder, found } = acquired;
    if (found === undefined) return { holder, found: this.lookInMemory(key, tags) };
    const taken = this.#takeFromRedis(found, tags);
    return { holder, found: taken instanceof Promise ? await taken : taken };
  }

  /** The entry of each tier, for `GET /explain`. */
  async inspect(key: string, tags: readonly string[]): Promise<Inspected> {
    const { redis, purges, judge } = this.#dependencies;
    const read = await redis?.get(key);
    const known = this.#dependencies.memory.peek(key);
    const memory: Lookup = known === undefined ? { state: 'miss' } : this.#lookupOf(known, tags, 'memory');
    if (read === undefined) return { memory, redis: 'not configured' };
    if (read.state === 'failed' || !purges.isCurrent) return { memory, redis: 'failed' };
    if (read.state !== 'found') return { memory, redis: 'absent' };
    const found = this.#lookupOf((await judge?.(read.entry, tags)) ?? read.entry, tags, 'redis');
    return { memory, redis: found.state === 'miss' ? 'absent' : found };
  }

  /** True if a purge covers the entry, by the instant of its request. */
  isPurged(entry: Entry, tags: readonly string[]): boolean {
    return this.#dependencies.purges.bans.applyBans(entry, tags) === undefined;
  }

  /** True if the entry may not be served to new requests: it is purged, or its missing block is there. */
  isOver(entry: Entry, tags: readonly string[]): boolean {
    return this.isPurged(entry, tags) || this.#isOvertaken(entry);
  }

  /** Stores in both tiers, in Redis in the background. A regressed answer is not stored, but extends the kept entry. */
  set(entry: Entry, tags: readonly string[], { known, lease }: StoreHints = {}): StoreOutcome {
    const { memory, olderAnswers, now } = this.#dependencies;
    if (this.isPurged(entry, tags)) return { outcome: 'purged' };
    const kept = this.#keptEntry(entry.key, tags, known);
    compareProofs(kept, entry);
    const precedence = kept === undefined ? 'replaces' : precedenceOver(kept, entry, now());
    if (kept !== undefined && precedence === 'older') return { outcome: 'superseded', kept };
    if (kept !== undefined && precedence === 'regressed') {
      return { outcome: 'regressed', kept: this.#extend(kept, lease, entry) };
    }
    olderAnswers.look(entry);
    // After the comparison: an answer that is not kept is served too, and may come from a lagging replica.
    const unusable = { outcome: isNeverKept(entry) ? 'never-kept' : 'expired' } as const;
    if (keptUntil(entry) <= now() || isDatedAhead(entry, now())) return unusable;
    const isUsable = now() < usableUntil(entry) || (entry.proof?.keptMs ?? 0) > 0;
    const isInMemory = memory.set(entry);
    const isInRedis = this.#share(entry, lease);
    if (!isUsable) return unusable;
    return { outcome: isInMemory || isInRedis ? 'stored' : 'too-large' };
  }

  /** Takes the entry from Redis into memory, unless it is purged, or memory holds a better one or the same. */
  #takeFromRedis(entry: Entry, tags: readonly string[]): Lookup | Promise<Lookup> {
    // Before its body is read, and again afterwards.
    const instead = this.#insteadOf(entry, tags);
    if (instead !== undefined) return instead;
    const judged = this.#dependencies.judge?.(entry, tags) ?? entry;
    return judged instanceof Promise
      ? judged.then((read) => this.#insteadOf(read, tags) ?? this.#take(read, tags))
      : this.#take(judged, tags);
  }

  /** What memory has instead of an entry from Redis; `undefined` if that is to be taken. */
  #insteadOf(entry: Entry, tags: readonly string[]): Lookup | undefined {
    const { memory, onHead, now } = this.#dependencies;
    if (this.isPurged(entry, tags)) return this.lookInMemory(entry.key, tags);
    const { rank } = entry.completeness;
    if (rank > HIGHEST_CLASS_RANK) onHead?.(rank);
    const at = now();
    const known = memory.get(entry.key);
    // Memory may hold the same answer: judged before, or extended since then because Redis takes no writes.
    if (known?.askedAt === entry.askedAt && known.freshUntil >= entry.freshUntil)
      return this.#lookupOf(known, tags, 'memory');
    const kept = this.#keptEntry(entry.key, tags);
    if (kept === undefined) return undefined;
    compareProofs(kept, entry);
    const isUsable = at < usableUntil(entry);
    const found = this.#lookupOf(kept, tags, 'memory');
    // An entry that is not usable by itself does not replace one that answers.
    if (!isUsable && found.state !== 'miss') return found;
    const precedence = precedenceOver(kept, entry, at);
    if (precedence === 'replaces') return undefined;
    return precedence === 'regressed' && isUsable ? this.#lookupOf(this.#extend(kept), tags, 'memory') : found;
  }

  #take(entry: Entry, tags: readonly string[]): Lookup {
    const found = this.#lookupOf(entry, tags, 'redis');
    if (found.state !== 'miss') this.#dependencies.olderAnswers.look(entry);
    this.#dependencies.memory.set(entry);
    return found;
  }

  /** The entry that a new answer is compared with: kept, and not purged. */
  #keptEntry(key: string, tags: readonly string[], known?: Entry): Entry | undefined {
    const { memory, now } = this.#dependencies;
    const entry = memory.get(key) ?? known;
    const at = now();
    if (entry === undefined || keptUntil(entry) <= at || isDatedAhead(entry, at)) return undefined;
    return this.isPurged(entry, tags) ? undefined : entry;
  }

  /** `answer`: the less complete one. */
  #extend(kept: Entry, lease?: WritersLease, answer = kept): Entry {
    const entry = extended(kept, this.#dependencies.now());
    this.#dependencies.memory.set(entry);
    if (answer.meta.isLocal !== true) this.#share(entry, lease);
    return entry;
  }

  /** Begins to write an entry to Redis; returns true if it has begun. */
  #share(entry: Entry, lease: WritersLease | undefined): boolean {
    const { memory, redis, purges } = this.#dependencies;
    if (entry.meta.isLocal === true) return false;
    // Until bans and Redis' time are known, the entry may be dated by a wrong clock.
    const write = purges.isCurrent ? redis?.set(entry, lease?.token) : undefined;
    if (write === undefined) return false;
    const stored = write.then((outcome) => {
      // Another instance has stored a better entry. Memory reads it from Redis at the next request for the key.
      const isWorse = outcome === 'older' || outcome === 'regressed';
      const inMemory = memory.get(entry.key);
      if (isWorse && inMemory?.content === entry.content) this.#endUse(inMemory);
      return outcome === 'stored';
    });
    lease?.endsWith(stored);
    return true;
  }

  /**
   * Ends the use of an entry. If Redis fails in the meantime, the next answer is still compared with it, if answers are
   * compared.
   */
  #endUse(entry: Entry): void {
    const { memory, now } = this.#dependencies;
    if (entry.meta.retention === undefined) memory.delete(entry.key);
    else {
      const freshUntil = Math.max(entry.askedAt, Math.min(entry.freshUntil, now()));
      memory.set({ ...entry, freshUntil, staleWhileRevalidate: 0, staleIfError: 0, proof: undefined });
    }
  }

  #lookupOf(entry: Entry, tags: readonly string[], tier: 'memory' | 'redis', now = this.#dependencies.now()): Lookup {
    const current = this.#afterPurges(entry, tags);
    if (current === undefined) return { state: 'miss' };
    const state = judgedFreshness(current, now);
    if (state !== 'fresh' && current.proof !== undefined && current.proof.doubt === undefined)
      return { state: 'proven', entry: current, tier };
    if (state !== 'expired') return { state, entry: current, tier };
    return current.meta.retention === undefined ? { state: 'miss' } : { state: 'miss', kept: current };
  }

  #isOvertaken({ awaitedBlock }: Entry): boolean {
    return awaitedBlock !== undefined && this.#dependencies.hasReached(awaitedBlock);
  }

  /** The entry after purges and the chain, or `undefined` if they end it. */
  #afterPurges(entry: Entry, tags: readonly string[]): Entry | undefined {
    if (this.#isOvertaken(entry)) return undefined;
    return this.#dependencies.purges.bans.applyBans(entry, tags);
  }
}

/** Two answers to a request, kept and new, are a proof or a doubt for each other. */
function compareProofs(kept: Entry | undefined, next: Entry): void {
  if (kept?.proof !== undefined) next.proof?.compare?.(kept.proof, kept.etag === next.etag);
}

/**
 * The freshness of an entry. An outdated one answers only if the indexer fails. One without a lifetime is not fresh by a
 * clock that is behind the one that dated it.
 */
function judgedFreshness(entry: Entry, now: EpochMs): Freshness {
  if (isNeverKept(entry)) return 'expired';
  const state = freshnessOf(entry, now);
  if (state === 'expired' || entry.proof?.isOutdated() !== true) return state;
  return entry.staleIfError > 0 && now < entry.freshUntil + entry.staleIfError ? 'stale-if-error' : 'expired';
}
