import { LRUCache } from 'lru-cache';
import { isDatedAhead, provableUntil, storedUntil, usableUntil } from '../freshness.ts';
import type { EpochMs } from '../time-units.ts';
import { type Entry, keptBytes, newEntry } from './entry.ts';

/**
 * The memory of an entry in addition to its key and bodies: objects, allocations, a place in the LRU (measured: 700 to
 * 850 bytes).
 */
const OVERHEAD_BYTES = 800;

/** An entry that needs a larger part of the memory is not kept: it would evict too many others. */
const MAX_ENTRY_SHARE = 1 / 16;

/**
 * Bodies are outside V8's heap, keys are in it. So long keys, those with hundreds of hashes, use at most this much in
 * all. Above {@link SHORT_KEY} the size of a key is multiplied by the ratio of `maxSizeBytes` to this value.
 */
const LONG_KEYS_BYTES = 64 * 1024 * 1024;

const SHORT_KEY = 512;

/** When the process is nearly out of memory, entries with this part of all bytes are evicted at a time. */
const EVICTED_SHARE = 1 / 16;

/**
 * The maximum number of entries that are then checked for expiry: all of 200 000 take 15 times the CPU time (measured).
 */
const MOST_LOOKED_AT = 4096;

/** If at least this part has expired, evicting those is enough. */
const ENOUGH_SHARE = 1 / 64;

/** What a `MemoryTier` is built from. */
export interface MemoryTierDependencies {
  readonly now: () => EpochMs;
  /** The bound over all entries: bodies, heads of hits, keys (long ones count more), proofs and overhead. */
  readonly maxSizeBytes: number;
  /** Called for each entry that is evicted while it is fresh: with more memory it would have been a hit. */
  readonly onEvicted?: (() => void) | undefined;
}

/**
 * The tier in this process, bounded by bytes; evicts the least recently used entry. Does not keep an entry larger than a
 * sixteenth of the bound. Whether an entry replaces another one is decided before it is set.
 */
export class MemoryTier {
  readonly #entries: LRUCache<string, Entry>;
  readonly #longKeyWeight: number;
  readonly #now: () => EpochMs;
  #provable = 0;

  constructor(dependencies: MemoryTierDependencies) {
    this.#now = dependencies.now;
    this.#longKeyWeight = Math.ceil(dependencies.maxSizeBytes / LONG_KEYS_BYTES);
    const { onEvicted } = dependencies;
    // Without `max`, which would allocate 46 bytes for each possible entry at the start, the LRU's lists grow: 500 000
    // places take 37 MiB either way (measured).
    this.#entries = new LRUCache({
      maxSize: dependencies.maxSizeBytes,
      maxEntrySize: Math.max(1, Math.floor(dependencies.maxSizeBytes * MAX_ENTRY_SHARE)),
      sizeCalculation: (entry) => this.#sizeOf(entry),
      disposeAfter: (entry, _, reason) => {
        if (isProvable(entry)) this.#provable--;
        if (onEvicted !== undefined && reason === 'evict' && this.#now() < entry.freshUntil) onEvicted();
      },
    });
  }

  /** The entry of a key, until its `storedUntil`, unless it is dated ahead. Counts as a use. */
  get(key: string, now = this.#now()): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || isIn(entry, now)) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** The same, without counting as a use. */
  peek(key: string): Entry | undefined {
    const entry = this.#entries.peek(key);
    return entry !== undefined && isIn(entry, this.#now()) ? entry : undefined;
  }

  /** Returns true if the entry is kept. */
  set(entry: Entry): boolean {
    if (!isIn(entry, this.#now())) return false;
    this.#put(entry);
    return this.#entries.peek(entry.key) === entry;
  }

  /** Counts the bytes of a kept entry again after the memory of its bodies has changed. */
  resize({ key, content }: Entry): void {
    const kept = this.#entries.peek(key);
    // A new object, because the LRU computes no new size for a value that it already holds.
    if (kept?.content === content) this.#put(newEntry(kept));
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /**
   * Frees memory, because the process is nearly out of it. Evicts the expired ones among the 4096 least recently used
   * entries; otherwise they stay until a look-up or a store removes them. If that frees hardly anything, evicts a
   * sixteenth of the bytes.
   */
  makeRoom(): void {
    const now = this.#now();
    const bytes = this.sizeBytes;
    let looked = 0;
    for (const entry of this.#entries.rvalues()) {
      if (entry !== undefined && provableUntil(entry, usableUntil(entry)) <= now) this.#entries.delete(entry.key);
      if (++looked === MOST_LOOKED_AT) break;
    }
    if (this.sizeBytes <= bytes * (1 - ENOUGH_SHARE)) return;
    while (this.sizeBytes > bytes * (1 - EVICTED_SHARE)) this.#entries.pop();
  }

  /** The bytes of all kept entries, as they count towards `maxSizeBytes`. */
  get sizeBytes(): number {
    return this.#entries.calculatedSize;
  }

  /** The number of kept entries. Expired entries count until they are looked up or evicted. */
  get count(): number {
    return this.#entries.size;
  }

  /** The number of entries that blocks may prove, including those that are not proven now. */
  get provable(): number {
    return this.#provable;
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    if (isProvable(entry) && this.#entries.peek(entry.key) === entry) this.#provable++;
  }

  /** The bytes of an entry that count towards `maxSizeBytes`. */
  #sizeOf({ key, content, completeness: { members, tentative, states }, proof }: Entry): number {
    const keyBytes = key.length + this.#longKeyWeight * Math.max(0, key.length - SHORT_KEY);
    const factBytes = members.byteLength + tentative.byteLength + (states?.byteLength ?? 0) + (proof?.bytes ?? 0);
    return keptBytes(content) + factBytes + keyBytes + OVERHEAD_BYTES;
  }
}

/** True if the tier has an entry at this instant. Most entries are fresh, and no entry ends before its freshness. */
function isIn(entry: Entry, now: EpochMs): boolean {
  return (now < entry.freshUntil || now < storedUntil(entry)) && !isDatedAhead(entry, now);
}

function isProvable({ proof }: Entry): boolean {
  return proof !== undefined && proof.keptMs > 0;
}
