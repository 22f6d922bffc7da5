import { LRUCache } from 'lru-cache';
import { usableUntil } from '../freshness.ts';
import type { EpochMs } from '../time-units.ts';
import { type Entry, keptBytes, newEntry } from './entry.ts';

/** What an entry costs beside its key and bodies: objects, allocations, a place in the LRU (measured: 700 to 850 bytes). */
const OVERHEAD_BYTES = 800;

/** An entry that takes a larger part of the memory is not kept: it would evict too many others. */
const MAX_ENTRY_SHARE = 1 / 16;

/**
 * Bodies are outside V8's heap, keys are in it. So long keys, those of hundreds of hashes, take no more than this in
 * all: beyond {@link SHORT_KEY} a key counts as much more as `maxSizeBytes` is larger than this.
 */
const LONG_KEYS_BYTES = 64 * 1024 * 1024;

const SHORT_KEY = 512;

/** While the process is out of memory, this part of the entries is evicted at once. */
const EVICTED_SHARE = 1 / 16;

/** So many entries are looked at then whether they have expired: all of 200 000 take 15 times the CPU time (measured). */
const MOST_LOOKED_AT = 4096;

/** If those that have expired are at least this part, that is room enough. */
const ENOUGH_SHARE = 1 / 64;

/** What a `MemoryTier` is built from. */
export interface MemoryTierDependencies {
  readonly now: () => EpochMs;
  /** The bound over all entries: bodies, heads of hits, keys (long ones count more) and overhead. */
  readonly maxSizeBytes: number;
  /** The bound on the number of entries: each one makes garbage collections longer. */
  readonly maxEntries: number;
  /** Called for each entry that is evicted while it is fresh: with more memory it would have been a hit. */
  readonly onEvicted?: (() => void) | undefined;
}

/**
 * The tier in this process, bounded by bytes and by number; evicts the least recently used entry. Does not keep an
 * entry larger than a sixteenth of the bound. Whether an entry replaces another one is decided before it is set.
 */
export class MemoryTier {
  readonly #entries: LRUCache<string, Entry>;
  readonly #maxEntries: number;
  readonly #longKeyWeight: number;
  readonly #now: () => EpochMs;

  constructor(dependencies: MemoryTierDependencies) {
    this.#now = dependencies.now;
    this.#maxEntries = dependencies.maxEntries;
    this.#longKeyWeight = Math.ceil(dependencies.maxSizeBytes / LONG_KEYS_BYTES);
    const { onEvicted } = dependencies;
    this.#entries = new LRUCache({
      maxSize: dependencies.maxSizeBytes,
      maxEntrySize: Math.max(1, Math.floor(dependencies.maxSizeBytes * MAX_ENTRY_SHARE)),
      sizeCalculation: (entry) => this.#sizeOf(entry),
      dispose: (entry, _, reason) => {
        if (onEvicted !== undefined && reason === 'evict' && this.#now() < entry.freshUntil) onEvicted();
      },
    });
  }

  /** The usable entry of a key. Counts as a use. */
  get(key: string, now = this.#now()): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || now < usableUntil(entry)) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** The usable entry of a key, for who only looks: counts as no use. */
  peek(key: string): Entry | undefined {
    const entry = this.#entries.peek(key);
    return entry !== undefined && this.#now() < usableUntil(entry) ? entry : undefined;
  }

  /** Returns whether it is kept. */
  set(entry: Entry): boolean {
    if (usableUntil(entry) <= this.#now()) return false;
    this.#entries.set(entry.key, entry);
    // Not the LRU's own `max`, which allocates 36 bytes for each possible entry at start.
    if (this.#entries.size > this.#maxEntries) this.#entries.pop();
    return this.#entries.peek(entry.key) === entry;
  }

  /** Counts the bytes of a kept entry again after the memory of its bodies has changed. */
  resize({ key, content }: Entry): void {
    const kept = this.#entries.peek(key);
    // A new object, because the LRU computes no new size for a value that it already holds.
    if (kept?.content === content) this.#entries.set(key, newEntry(kept));
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /**
   * Frees memory, because the process is nearly out of it: of the 4096 entries that were used longest ago evicts those that
   * have expired, which otherwise only stores evict. Where that frees hardly anything, evicts a sixteenth of the bytes.
   */
  makeRoom(): void {
    const now = this.#now();
    const bytes = this.sizeBytes;
    let looked = 0;
    for (const entry of this.#entries.rvalues()) {
      if (entry !== undefined && usableUntil(entry) <= now) this.#entries.delete(entry.key);
      if (++looked === MOST_LOOKED_AT) break;
    }
    if (this.sizeBytes <= bytes * (1 - ENOUGH_SHARE)) return;
    while (this.sizeBytes > bytes * (1 - EVICTED_SHARE)) this.#entries.pop();
  }

  /** The bytes of all kept entries, as they count towards `maxSizeBytes`. */
  get sizeBytes(): number {
    return this.#entries.calculatedSize;
  }

  /** The number of entries kept. Expired ones count until they are looked up or evicted. */
  get count(): number {
    return this.#entries.size;
  }

  /** The bytes of an entry that count towards `maxSizeBytes`. */
  #sizeOf({ key, content, completeness: { members, tentative } }: Entry): number {
    const keyBytes = key.length + this.#longKeyWeight * Math.max(0, key.length - SHORT_KEY);
    return keptBytes(content) + members.byteLength + tentative.byteLength + keyBytes + OVERHEAD_BYTES;
  }
}
