import { endingAt, type Instants } from '../instants.ts';

/** The tag of every entry. A hard record of it is the epoch, which is part of every key. */
export const EVERY_ENTRY = '*';

/** How far clocks may be apart: an instant that is further ahead is not believed. */
export const FURTHEST_AHEAD_MS = 60_000;

/**
 * One purge, kept as a ban in the sense of Varnish: it deletes nothing itself. Whatever was asked for up to `at` (epoch
 * ms) is gone when it is looked up, or stale if the purge was soft.
 */
export interface PurgeRecord {
  /** What an entry's request must have named, such as `seqno:7`; see {@link EVERY_ENTRY}. */
  readonly tag: string;
  readonly soft: boolean;
  readonly at: number;
}

/** What a ban is applied to: an entry with the tags of its request and spaces between them, {@link EVERY_ENTRY} not among them. */
export interface Purgeable
  extends Pick<Instants, 'askedAt' | 'freshUntil' | 'staleWhileRevalidateUntil' | 'staleIfErrorUntil'> {
  readonly tags: string;
}

export interface PurgeRecordsDependencies {
  /** Told when the epoch has grown: all keys made before are of no use any more. */
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
 * The bans (as Varnish calls them) of the purges that this process knows: of each tag the latest. A purge searches for no
 * keys; each entry is compared with the bans when it is used, by the instant at which it was asked for. Records only ever
 * grow, so they may be applied again, in any order, by any number of instances, and all come to hold the same.
 */
export class PurgeRecords {
  readonly #dependencies: PurgeRecordsDependencies;
  readonly #byTag = new Map<string, Bans>();
  /** Entries that no ban known now touches: looking up a hundred tags costs microseconds a hit. */
  #untouched = new WeakSet<Purgeable>();
  #epoch = 0;
  #newest: PurgeRecord | undefined;
  #latestAskedAt = 0;

  constructor(dependencies: PurgeRecordsDependencies) {
    this.#dependencies = dependencies;
  }

  /** When all was purged for the last time, in epoch milliseconds; 0 for never. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The latest record that is kept, the epoch included. */
  get newest(): PurgeRecord | undefined {
    return this.#newest;
  }

  /**
   * The instant of a new purge: now, but not before any entry known here was asked for, as the clock may have been set
   * back a little since; and later than the purge before it.
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

  /** Takes a record over where it is later than what is known. Returns whether it was. */
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
   * What the bans leave of an entry: `undefined` when it is gone for every use, a copy whose lifetime ended at the
   * purge when that was soft (its stale windows keep their length and begin there), else the entry itself.
   */
  applyBans<E extends Purgeable>(entry: E): E | undefined {
    if (entry.askedAt > this.#latestAskedAt) this.#latestAskedAt = entry.askedAt;
    if (this.#newest === undefined || entry.askedAt > this.#newest.at || this.#byTag.size === 0) return entry;
    if (this.#untouched.has(entry)) return entry;
    let softAt = this.#softAtOf(EVERY_ENTRY, entry.askedAt);
    for (const tag of entry.tags.split(' ')) {
      if ((this.#byTag.get(tag)?.hardAt ?? NEVER) >= entry.askedAt) return undefined;
      softAt = Math.min(softAt, this.#softAtOf(tag, entry.askedAt));
    }
    // A purge that is known is over: its instant may lie ahead of this clock, which only estimates that of Redis.
    const endsAt = softAt === Number.POSITIVE_INFINITY ? softAt : Math.min(softAt, this.#dependencies.now());
    if (endsAt < entry.freshUntil) return endingAt(entry, endsAt);
    this.#untouched.add(entry);
    return entry;
  }

  /** What was asked for up to here (epoch ms) with these tags was purged in one way or the other; 0 when nothing was. */
  purgedUntil({ tags }: Pick<Purgeable, 'tags'>): number {
    if (this.#byTag.size === 0) return 0;
    const purges = [EVERY_ENTRY, ...tags.split(' ')].map((tag) => this.#byTag.get(tag));
    return Math.max(0, ...purges.flatMap((found) => (found === undefined ? [] : [found.hardAt, found.softAt])));
  }

  /**
   * Forgets what is older than `before` (epoch ms), and takes what is later than `latest` as of then: a clock was wrong,
   * and would have its purges end what is asked for long after them. Leaves the epoch as it is.
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

  /** Replaces an epoch of a clock that was far ahead. */
  correctEpoch(at: number): void {
    this.#epoch = at;
    this.#newest = [...this.all()].toSorted((one, other) => other.at - one.at)[0];
    this.#dependencies.onEpoch();
  }

  /** All that is known, the epoch included once there was one. */
  *all(): Generator<PurgeRecord> {
    if (this.#epoch > 0) yield { tag: EVERY_ENTRY, soft: false, at: this.#epoch };
    for (const [tag, { hardAt, softAt }] of this.#byTag) {
      if (hardAt !== NEVER) yield { tag, soft: false, at: hardAt };
      if (softAt !== NEVER) yield { tag, soft: true, at: softAt };
    }
  }

  /** Infinity for an entry that was asked for after the purge. */
  #softAtOf(tag: string, askedAt: number): number {
    const softAt = this.#byTag.get(tag)?.softAt ?? NEVER;
    return softAt >= askedAt ? softAt : Number.POSITIVE_INFINITY;
  }
}

function isEpoch({ tag, soft }: Omit<PurgeRecord, 'at'>): boolean {
  return tag === EVERY_ENTRY && !soft;
}
