/** No slots are kept free for an operation that was not asked for within this time, in milliseconds. */
const RECENTLY_MS = 60_000;

/** The part of an operation's share that is never lent to others while the operation is in use. */
const NEVER_LENT = 1 / 4;

export interface SlotsDependencies {
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface SlotsOptions {
  /** The most requests that may be at the indexer at once. */
  readonly max: number;
  /** The fraction of the slots that is each operation's share, 0 to 1. An operation that is not named has none. */
  readonly shares: Readonly<Record<string, number>>;
}

interface Use {
  inUse: number;
  askedAt: number;
}

/**
 * The slots for requests at the indexer. Each operation has a share, and its unused slots are lent to the others. A
 * quarter of the share (at least one slot) is never lent while the operation was asked for within the last minute. So
 * when one operation's requests hang and take all they can borrow, the others still have slots of their own.
 *
 * An operation may start another request when a slot is free and (kept: the slots of an operation that are never lent)
 *
 *   in use < kept, or free slots > sum over the other operations of max(0, kept - in use)
 */
export class Slots {
  readonly #dependencies: SlotsDependencies;
  readonly #options: SlotsOptions;
  readonly #uses = new Map<string, Use>();
  /** The number of operations with a share. */
  readonly #sharers: number;
  #inUse = 0;

  constructor(dependencies: SlotsDependencies, options: SlotsOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#sharers = Object.values(options.shares).filter((share) => share > 0).length;
  }

  get max(): number {
    return this.#options.max;
  }

  /** Slots taken now. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Remembers that an operation is in use, whether or not it gets a slot. */
  asked(operation: string): void {
    this.#use(operation).askedAt = this.#dependencies.now();
  }

  /** Whether an operation may take a slot now. */
  mayTake(operation: string): boolean {
    const recentlyAt = this.#dependencies.now() - RECENTLY_MS;
    let free = this.#options.max - this.#inUse;
    // An operation below its kept slots may take any free one. Lent slots come back one by one, and two operations that
    // wait for theirs must not block each other.
    if (this.#use(operation).inUse < this.#kept(operation)) return free > 0;
    for (const [other, { inUse, askedAt }] of this.#uses) {
      if (other !== operation && askedAt > recentlyAt) free -= Math.max(0, this.#kept(other) - inUse);
    }
    return free > 0;
  }

  /** Whether an operation uses less than its share: then it goes before the others. */
  isBelowShare(operation: string): boolean {
    return this.#use(operation).inUse < this.#share(operation);
  }

  take(operation: string): void {
    this.#use(operation).inUse++;
    this.#inUse++;
  }

  release(operation: string): void {
    this.#use(operation).inUse--;
    this.#inUse--;
  }

  /**
   * The slots of an operation that are never lent: at least one, unless there are no more slots than operations with a
   * share.
   */
  #kept(operation: string): number {
    const share = this.#share(operation);
    const isScarce = this.#options.max <= this.#sharers;
    return share === 0 ? 0 : Math.max(isScarce ? 0 : 1, Math.round(share * NEVER_LENT));
  }

  #share(operation: string): number {
    return this.#options.max * (this.#options.shares[operation] ?? 0);
  }

  #use(operation: string): Use {
    const known = this.#uses.get(operation);
    if (known !== undefined) return known;
    const use = { inUse: 0, askedAt: Number.NEGATIVE_INFINITY };
    this.#uses.set(operation, use);
    return use;
  }
}
