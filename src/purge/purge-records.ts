import type { Instants } from '../instants.ts';

/** The tag that every entry has. A hard purge of it changes the epoch, which is part of every key. */
export const EVERY_ENTRY = '*';

/** Clocks differ by less than this: an instant further in the future is not believed. */
export const FURTHEST_AHEAD_MS = 60_000;

/**
 * One purge, kept as a ban in the sense of Varnish: it deletes nothing itself. Entries that were asked for up to `at`
 * (epoch ms) are gone when they are looked up, or stale if the purge was soft. Redis dates it a few milliseconds after
 * the purge, for clocks that differ: see `CLOCK_MARGIN_MS` in `purge-script.ts`.
 */
export interface PurgeRecord {
  /** The tag of the entries that the purge covers, such as `seqno:7`; see {@link EVERY_ENTRY}. */
  readonly tag: string;
  readonly soft: boolean;
  readonly at: number;
}

/** What a ban is applied to: an entry. */
export interface Purgeable extends Pick<Instants, 'askedAt' | 'freshUntil'> {
  readonly key: string;
}

export interface PurgeRecordsDependencies {
  /** The tags of an entry by its key, without {@link EVERY_ENTRY}. */
  readonly tagsOf: (key: string) => readonly string[];
  /** Called when the epoch has changed: all keys made before are of no use any more. */
  readonly onEpoch: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

interface Bans {
  hardAt: number;
  softAt: number;
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * The bans (Varnish's word) that this process knows: the latest purge of each tag. A purge does not search for keys: an
 * entry is compared with the bans when it is used, by the instant at which it was asked for. Applying a record only
 * raises an instant, so records can be applied repeatedly and in any order, and all instances come to hold the same.
 */
export class PurgeRecords {
  readonly #dependencies: PurgeRecordsDependencies;
  readonly #byTag = new Map<string, Bans>();
  /**
   * Entries that no current ban covers. Without this, looking up the bans of a hundred tags would cost microseconds on
   * each hit.
   */
  #untouched = new WeakSet<Purgeable>();
  #epoch = 0;
  #newest: PurgeRecord | undefined;
  #latestAskedAt = 0;

  constructor(dependencies: PurgeRecordsDependencies) {
    this.#dependencies = dependencies;
  }

  /** When everything was last purged, in epoch milliseconds; 0 for never. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The latest record that is kept, the epoch included. */
  get newest(): PurgeRecord | undefined {
    return this.#newest;
  }

  /**
   * The instant of a new purge: now, but not before the last known entry was asked for, because the clock may have been
   * set back a little since; and later than the tag's last purge.
   */
  nextAt({ tag, soft }: Omit<PurgeRecord, 'at'>): number {
    const now = this.#dependencies.now();
    const latestAskedAt = Math.min(this.#latestAskedAt, now + FURTHEST_AHEAD_MS);
    return Math.max(Math.ceil(now), Math.ceil(latestAskedAt), (this.atOf({ tag, soft }) ?? 0) + 1);
  }

  /** The latest purge of a tag. */
  atOf({ tag, soft }: Omit<PurgeRecord, 'at'>): number | undefined {
    if (isEpoch({ tag, soft })) return this.#epoch;
    const at = this.#byTag.get(tag)?.[soft ? 'softAt' : 'hardAt'];
    return at === NEVER ? undefined : at;
  }

  /** Applies a record if it is later than the known one. Returns whether it is. */
  apply(record: PurgeRecord): boolean {
    const { tag, soft, at } = record;
    if (!(at > (this.atOf(record) ?? 0))) return false;
    if (this.#newest === undefined || at >= this.#newest.at) this.#newest = record;
    if (isEpoch(record)) {
      this.#epoch = at;
      this.#dependencies.onEpoch();
      return true;
    }
    this.#untouched = new WeakSet();
    const bans = this.#byTag.get(tag) ?? { hardAt: NEVER, softAt: NEVER };
    if (soft) bans.softAt = at;
    else bans.hardAt = at;
    this.#byTag.set(tag, bans);
    return true;
  }

  /**
   * What the bans leave of an entry: `undefined` after a hard purge; after a soft purge, a copy whose lifetime ended at
   * its instant (its stale windows keep their length and begin there); else the entry itself.
   */
  applyBans<E extends Purgeable>(entry: E): E | undefined {
    if (entry.askedAt > this.#latestAskedAt) this.#latestAskedAt = entry.askedAt;
    if (this.#newest === undefined || entry.askedAt > this.#newest.at || this.#byTag.size === 0) return entry;
    if (this.#untouched.has(entry)) return entry;
    let softAt = this.#softAtOf(EVERY_ENTRY, entry.askedAt);
    for (const tag of this.#dependencies.tagsOf(entry.key)) {
      if ((this.#byTag.get(tag)?.hardAt ?? NEVER) >= entry.askedAt) return undefined;
      softAt = Math.min(softAt, this.#softAtOf(tag, entry.askedAt));
    }
    // The instant of a purge lies in the future for some milliseconds, because of the margin for clocks that differ. Until
    // then the lifetime ends now.
    const endsAt = softAt === Number.POSITIVE_INFINITY ? softAt : Math.min(softAt, this.#dependencies.now());
    if (endsAt < entry.freshUntil) return { ...entry, freshUntil: endsAt };
    this.#untouched.add(entry);
    return entry;
  }

  /** Entries of this key that were asked for up to here (epoch ms) are purged, hard or soft; 0 when none are. */
  purgedUntil({ key }: Pick<Purgeable, 'key'>): number {
    if (this.#byTag.size === 0) return 0;
    const purges = [EVERY_ENTRY, ...this.#dependencies.tagsOf(key)].map((tag) => this.#byTag.get(tag));
    return Math.max(0, ...purges.flatMap((found) => (found === undefined ? [] : [found.hardAt, found.softAt])));
  }

  /**
   * Forgets records older than `before` (epoch ms), and moves records later than `latest` to `latest`: they come from a
   * wrong clock, and would purge entries that are asked for long after the purge. Leaves the epoch as it is.
   */
  trim(before: number, latest = Number.POSITIVE_INFINITY): void {
    this.#latestAskedAt = Math.min(this.#latestAskedAt, latest);
    const trimmed = (at: number) => (at < before ? NEVER : Math.min(at, latest));
    for (const [tag, bans] of this.#byTag) {
      bans.hardAt = trimmed(bans.hardAt);
      bans.softAt = trimmed(bans.softAt);
      if (bans.hardAt === bans.softAt && bans.hardAt === NEVER) this.#byTag.delete(tag);
    }
    const newestAt = trimmed(this.#newest?.at ?? NEVER);
    this.#newest = this.#newest && newestAt !== NEVER ? { ...this.#newest, at: newestAt } : undefined;
  }

  /** Replaces an epoch that a clock far ahead has set. */
  correctEpoch(at: number): void {
    this.#epoch = at;
    this.#newest = [...this.all()].toSorted((one, other) => other.at - one.at)[0];
    this.#dependencies.onEpoch();
  }

  /** All known records, including the epoch if there is one. */
  *all(): Generator<PurgeRecord> {
    if (this.#epoch > 0) yield { tag: EVERY_ENTRY, soft: false, at: this.#epoch };
    for (const [tag, { hardAt, softAt }] of this.#byTag) {
      if (hardAt !== NEVER) yield { tag, soft: false, at: hardAt };
      if (softAt !== NEVER) yield { tag, soft: true, at: softAt };
    }
  }

  /** The soft purge of a tag, or infinity if it does not cover an entry that was asked for at `askedAt`. */
  #softAtOf(tag: string, askedAt: number): number {
    const softAt = this.#byTag.get(tag)?.softAt ?? NEVER;
    return softAt >= askedAt ? softAt : Number.POSITIVE_INFINITY;
  }
}

function isEpoch({ tag, soft }: Omit<PurgeRecord, 'at'>): boolean {
  return tag === EVERY_ENTRY && !soft;
}
