import { LRUCache } from 'lru-cache';
import type { Completeness, Entry } from './entry.ts';
import { compareCompleteness } from './precedence.ts';

/** The maximum bytes of keys and rows that are remembered from the last served answers: some thousand keys. */
const MAX_BYTES = 1024 * 1024;

/** The memory of a key in addition to itself and its rows: objects, and a place in the LRU. */
const OVERHEAD_BYTES = 200;

/** A key with more is not remembered, so that a list of thousands of rows does not displace all others. */
const MAX_BYTES_OF_KEY = MAX_BYTES / 16;

/**
 * Counts served answers that are older: less complete, by `precedence.ts`, than an earlier answer to the same key.
 * While the earlier answer is kept, it is served instead. When it is too old, evicted or purged, or when the indexer's
 * version was accepted, clients get the answer of a lagging replica or a restored database. Pending traces have no such
 * order: the latest answer is right.
 */
export class OlderAnswers {
  readonly #served = new LRUCache<string, Completeness>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_BYTES_OF_KEY,
    sizeCalculation: ({ members, tentative, states }, { length }) =>
      length + members.length + tentative.length + (states?.length ?? 0) + OVERHEAD_BYTES,
  });
  readonly #onOlder: () => void;

  constructor(onOlder: () => void) {
    this.#onOlder = onOlder;
  }

  /** Call when an answer that is new to this process is served; a hit was checked when it was stored. */
  look({ key, completeness }: Entry): void {
    const before = this.#served.get(key);
    if (before !== undefined && compareCompleteness(completeness, before) === 'less') this.#onOlder();
    // Nothing is less complete than an answer without rows.
    const { order, rank, members, states } = completeness;
    if (order === undefined && rank === 0 && members.length === 0 && states === undefined) this.#served.delete(key);
    else this.#served.set(key, completeness);
  }
}
