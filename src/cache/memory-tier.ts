import { LRUCache } from 'lru-cache';
import { keptUntil, usableUntil } from '../freshness.ts';
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

/** Bulky entries, see {@link MemoryTierDependencies.isBulky}, use at most this part of the memory. */
const BULKY_SHARE = 1 / 4;

/** What a `MemoryTier` is built from. */
export interface MemoryTierDependencies {
  readonly now: () => EpochMs;
  /** The bound over all entries: bodies, heads of hits, keys (long ones count more), proofs and overhead. */
  readonly maxSizeBytes: number;
  /** The bound on the number of entries: each entry makes garbage collections longer. */
  readonly maxEntries: number;
  /** Called for each entry that is evicted while it is fresh: with more memory it would have been a hit. */
  readonly onEvicted?: (() => void) | undefined;
  /**
   * True if the entry of a key may be large and is seldom requested again: such entries must not evict the others.
   * Absent if no entry is bulky.
   */
  readonly isBulky?: (key: string) => boolean;
}

/**
 * The tier in this process, bounded by bytes and by number of entries; evicts the least recently used entry. Does not
 * keep an entry larger than a sixteenth of the bound. Bulky entries may use a quarter of it: above that, the oldest of
 * them is evicted. Whether an entry replaces another one is decided before it is set.
 */
export class MemoryTier {
  readonly #entries: LRUCache<string, Entry>;
  /** The sizes of the bulky entries. */
  readonly #bulky: LRUCache<string, number>;
  readonly #isBulky: (key: string) => boolean;
  readonly #maxEntries: number;
  readonly #longKeyWeight: number;
  readonly #now: () => EpochMs;
  #provable = 0;

  constructor(dependencies: MemoryTierDependencies) {
    this.#now = dependencies.now;
    this.#maxEntries = dependencies.maxEntries;
    this.#longKeyWeight = Math.ceil(dependencies.maxSizeBytes / LONG_KEYS_BYTES);
    const { onEvicted } = dependencies;
    const onEvict = (entry: Entry) => {
      if (onEvicted !== undefined && this.#now() < entry.freshUntil) onEvicted();
    };
    this.#isBulky = dependencies.isBulky ?? (() => false);
    this.#entries = new LRUCache({
      maxSize: dependencies.maxSizeBytes,
      maxEntrySize: Math.max(1, Math.floor(dependencies.maxSizeBytes * MAX_ENTRY_SHARE)),
      sizeCalculation: (entry) => this.#sizeOf(entry),
      disposeAfter: (entry, key, reason) => {
        if (isProvable(entry)) this.#provable--;
        if (reason === 'evict') onEvict(entry);
        if (reason !== 'set' && this.#bulky.size > 0) this.#bulky.delete(key);
      },
    });
    this.#bulky = new LRUCache({
      maxSize: Math.max(1, Math.floor(dependencies.maxSizeBytes * BULKY_SHARE)),
      sizeCalculation: (bytes) => bytes,
      disposeAfter: (_, key, reason) => {
        const entry = reason === 'evict' ? this.#entries.peek(key) : undefined;
        if (entry === undefined) return;
        onEvict(entry);
        this.#entries.delete(key);
      },
    });
  }

  /** The entry of a key, until its `keptUntil`, or as long as it can be proven. Counts as a use. */
  get(key: string, now = this.#now()): Entry | undefined {
    const entry = this.#entries.get(key);
    // Most entries are fresh, and no entry ends before its freshness.
    if (entry === undefined || now < entry.freshUntil || now < inMemoryUntil(entry)) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** The same, without counting as a use. */
  peek(key: string): Entry | undefined {
    const entry = this.#entries.peek(key);
    return entry !== undefined && this.#now() < inMemoryUntil(entry) ? entry : undefined;
  }

  /** Returns true if the entry is kept. */
  set(entry: Entry): boolean {
    if (inMemoryUntil(entry) <= this.#now()) return false;
    this.#put(entry);
    // The LRU's own `max` is not used: it allocates 36 bytes for each possible entry at the start.
    if (this.#entries.size > this.#maxEntries) this.#entries.pop();
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
    // Before the entry takes its room, so that another bulky entry gives way.
    const isBulky = this.#isBulky(entry.key);
    if (isBulky) this.#bulky.set(entry.key, this.#sizeOf(entry));
    this.#entries.set(entry.key, entry);
    if (isProvable(entry) && this.#entries.peek(entry.key) === entry) this.#provable++;
    // An entry that is too large was not kept.
    if (isBulky && !this.#entries.has(entry.key)) this.#bulky.delete(entry.key);
  }

  /** The bytes of an entry that count towards `maxSizeBytes`. */
  #sizeOf({ key, content, completeness: { members, tentative }, proof }: Entry): number {
    const keyBytes = key.length + this.#longKeyWeight * Math.max(0, key.length - SHORT_KEY);
    const factBytes = members.byteLength + tentative.byteLength + (proof?.bytes ?? 0);
    return keptBytes(content) + factBytes + keyBytes + OVERHEAD_BYTES;
  }
}

/** True if blocks may prove the entry. */
function isProvable({ proof }: Entry): boolean {
  return proof !== undefined && proof.keptMs > 0;
}

function inMemoryUntil(entry: Entry): EpochMs {
  return provableUntil(entry, keptUntil(entry));
}

/** `until`, or the end of the time in which an entry can be proven if that is later. */
function provableUntil({ askedAt, proof }: Entry, until: EpochMs): EpochMs {
  return proof === undefined ? until : Math.max(until, askedAt + proof.keptMs);
}
