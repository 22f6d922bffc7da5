import { LRUCache } from 'lru-cache';
import { usableUntil } from '../instants.ts';
import type { Entry } from './entry.ts';
import { keptBytes } from './forms.ts';
import { precedenceOver } from './precedence.ts';
import type { Tier, TierRead } from './tier.ts';

/** What an entry costs beside its key and body: objects, a Buffer of its own, a slot of the LRU (measured: about 1100 bytes). */
const OVERHEAD_BYTES = 1100;

/** No single entry may push out more than this share of the others. */
const MAX_ENTRY_SHARE = 1 / 16;

/** What an entry costs, in the measure of `maxSizeBytes`. */
function sizeOf({ key, forms, completeness }: Entry): number {
  const { members, tentative } = completeness;
  return keptBytes(forms) + members.byteLength + tentative.byteLength + key.length + OVERHEAD_BYTES;
}

/** What a `MemoryTier` is built from. */
export interface MemoryTierDependencies {
  /** The wall clock, in epoch milliseconds. */
  readonly now: () => number;
}

export interface MemoryTierOptions {
  /** The bound over all entries: bodies, keys and overhead. */
  readonly maxSizeBytes: number;
  /** The bound on their number: a garbage collection takes the longer the more there are. */
  readonly maxEntries: number;
}

/** An entry in memory, with the instant from which Redis is to be asked again before it is used. */
export interface MemoryCopy {
  readonly entry: Entry;
  /** Epoch ms; starts at `memoryTtl` after the entry was kept, and may be moved by whoever has asked Redis. */
  askRedisAt: number;
  /** Of its bytes in Redis; `undefined` when it is not known that Redis holds it. */
  sharedChecksum: number | undefined;
}

/**
 * The tier in this process: bounded by bytes and by number, the least recently used goes first. An entry larger than a sixteenth of
 * the bound is not kept, and neither is one that does not replace the usable one that is there.
 */
export class MemoryTier implements Tier {
  readonly #copies: LRUCache<string, MemoryCopy>;
  readonly #maxEntries: number;
  readonly #now: () => number;

  constructor(dependencies: MemoryTierDependencies, options: MemoryTierOptions) {
    this.#now = dependencies.now;
    this.#maxEntries = options.maxEntries;
    this.#copies = new LRUCache({
      maxSize: options.maxSizeBytes,
      maxEntrySize: Math.max(1, Math.floor(options.maxSizeBytes * MAX_ENTRY_SHARE)),
      sizeCalculation: ({ entry }) => sizeOf(entry),
    });
  }

  get(key: string): TierRead {
    const copy = this.peek(key);
    return copy === undefined ? { state: 'absent' } : { state: 'found', entry: copy.entry };
  }

  /** The usable copy of a key, and a use of it: `get` for whoever must also decide whether Redis is to be asked. */
  peek(key: string): MemoryCopy | undefined {
    const copy = this.#copies.get(key);
    if (copy === undefined || this.#now() < usableUntil(copy.entry)) return copy;
    this.#copies.delete(key);
    return undefined;
  }

  /** The usable copy of a key for people who look: no use of it. */
  inspect(key: string): Entry | undefined {
    const entry = this.#copies.peek(key)?.entry;
    return entry !== undefined && this.#now() < usableUntil(entry) ? entry : undefined;
  }

  /** `sharedChecksum`: of its bytes in Redis, if it was read there. */
  set(entry: Entry, sharedChecksum?: number): boolean {
    const now = this.#now();
    if (usableUntil(entry) <= now) return false;
    const kept = this.#copies.peek(entry.key)?.entry;
    if (kept !== undefined && now < usableUntil(kept) && precedenceOver(kept, entry, now) !== 'replaces') return false;
    const copy: MemoryCopy = { entry, askRedisAt: now + entry.memoryTtl, sharedChecksum };
    this.#copies.set(entry.key, copy);
    // Not `max` of the LRU: it would take 36 bytes for each of them at start.
    if (this.#copies.size > this.#maxEntries) this.#copies.pop();
    return this.#copies.peek(entry.key) === copy;
  }

  /** Counts an entry anew that is kept in other codings than when it was set; if it is the one that is kept. */
  resize(entry: Entry): void {
    const copy = this.#copies.peek(entry.key);
    if (copy?.entry.forms === entry.forms) this.#copies.set(entry.key, { ...copy });
  }

  delete(key: string): void {
    this.#copies.delete(key);
  }

  clear(): void {
    this.#copies.clear();
  }

  /** What the kept entries cost, in the measure of `maxSizeBytes`. */
  get sizeBytes(): number {
    return this.#copies.calculatedSize;
  }

  /** How many entries are kept, expired ones included until they are looked up or pushed out. */
  get count(): number {
    return this.#copies.size;
  }
}
