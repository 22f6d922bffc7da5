import type { Instants } from '../freshness.ts';
import type { EpochMs, Ms } from '../time-units.ts';

/** The tag that every entry has. */
export const EVERY_ENTRY = '*';

/** Clocks differ by less than this: an instant further ahead comes from a wrong clock. */
export const FURTHEST_AHEAD_MS = 60_000;

/** The effect of a purge: entries with this tag that were requested up to `at` are purged. */
export interface Ban {
  /** Such as `seqno:7`; see {@link EVERY_ENTRY}. */
  readonly tag: string;
  readonly at: EpochMs;
}

/** An entry as bans see it, by the instant of its request. */
export type Bannable = Pick<Instants, 'askedAt'>;

/**
 * The bans that this process knows (Varnish's word): the latest purge of each tag. A purge searches for no keys: an
 * entry is compared with the bans whenever it is read or stored. Instants are only raised, so bans may be learned
 * repeatedly and in any order, and all instances come to know the same.
 */
export class Bans {
  readonly #now: () => EpochMs;
  readonly #atByTag = new Map<string, EpochMs>();
  #newestAt: EpochMs = 0;
  /** The latest instant that this process knows of: entries may have been requested until then. */
  #latestAt: EpochMs = 0;
  /** Entries that no ban covers. Without this set, each hit on a key with a hundred tags would cost microseconds. */
  #untouched = new WeakSet<Bannable>();

  constructor(now: () => EpochMs) {
    this.#now = now;
  }

  /**
   * The instant of a new purge: now, but not before the last known entry was requested, because the clock may have been
   * set back since.
   */
  nextAt(): EpochMs {
    const now = this.#now();
    return Math.ceil(Math.max(now, Math.min(this.#latestAt, now + FURTHEST_AHEAD_MS)));
  }

  /** The latest purge of a tag; 0 if there is none. */
  atOf(tag: string): EpochMs {
    return this.#atByTag.get(tag) ?? 0;
  }

  /** Learns a ban; returns true if it is later than the known one of its tag. */
  raise({ tag, at }: Ban): boolean {
    if (!(at > this.atOf(tag))) return false;
    this.#atByTag.set(tag, at);
    this.#newestAt = Math.max(this.#newestAt, at);
    this.#untouched = new WeakSet();
    return true;
  }

  /** The entry with these tags, or `undefined` if a ban covers it. */
  applyBans<E extends Bannable>(entry: E, tags: readonly string[]): E | undefined {
    if (entry.askedAt > this.#latestAt) this.#latestAt = entry.askedAt;
    if (entry.askedAt > this.#newestAt || this.#untouched.has(entry)) return entry;
    if (entry.askedAt <= this.purgedUntil(tags)) return undefined;
    this.#untouched.add(entry);
    return entry;
  }

  /** Entries with these tags that were requested up to this instant are purged; 0 without a purge. */
  purgedUntil(tags: readonly string[]): EpochMs {
    if (this.#atByTag.size === 0) return 0;
    return Math.max(this.atOf(EVERY_ENTRY), ...tags.map((tag) => this.atOf(tag)));
  }

  /**
   * Forgets bans that are older than `keptMs`. Sets bans of a clock that was far ahead back to `now`: they would purge
   * answers requested long after the purge. Call it often: a purge also covers the entries of other instances that were
   * requested before the clock was set back by less than {@link FURTHEST_AHEAD_MS}, up to the last call.
   */
  trim(now: EpochMs, keptMs: Ms): void {
    for (const { tag, at } of this.all()) {
      if (at < now - keptMs) this.#atByTag.delete(tag);
      else if (at > now + FURTHEST_AHEAD_MS) this.#atByTag.set(tag, Math.floor(now));
    }
    this.#latestAt = this.#latestAt > now + FURTHEST_AHEAD_MS ? now : Math.max(this.#latestAt, now);
  }

  *all(): Generator<Ban> {
    for (const [tag, at] of this.#atByTag) yield { tag, at };
  }
}
