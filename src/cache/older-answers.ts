import { LRUCache } from 'lru-cache';
import type { Completeness, Entry } from './entry.ts';
import { compareCompleteness } from './precedence.ts';

/** The most bytes of keys and rows that are remembered of what was served last: some thousand keys. */
const MAX_BYTES = 1024 * 1024;

/** What a key takes beside itself and its rows: objects, and a place in the LRU. */
const OVERHEAD_BYTES = 200;

/** More is not remembered of a key, so that a list of thousands of rows does not take the place of all others. */
const MAX_BYTES_OF_KEY = MAX_BYTES / 16;

/**
 * Counts the older answers that are served: less complete, in the order of `precedence.ts`, than an answer to the same key
 * before. While the answer before is kept, it is served instead. When it is too old, evicted or purged, or when the indexer's
 * version was accepted, the answer of a replica that lags or of a restored database is served. Pending traces have no such
 * order: the latest answer is right.
 */
export class OlderAnswers {
  readonly #served = new LRUCache<string, Completeness>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_BYTES_OF_KEY,
    sizeCalculation: ({ members, tentative }, { length }) =>
      length + members.length + tentative.length + OVERHEAD_BYTES,
  });
  readonly #onOlder: () => void;

  constructor(onOlder: () => void) {
    this.#onOlder = onOlder;
  }

  /** Call with each answer that is new to this process when it is served; a hit was looked at when it was stored. */
  look({ key, completeness }: Entry): void {
    const before = this.#served.get(key);
    if (before !== undefined && compareCompleteness(completeness, before) === 'less') this.#onOlder();
    // Nothing is less than an answer that lists nothing.
    const { order = 0n, rank, members } = completeness;
    if (order === 0n && rank === 0 && members.length === 0) this.#served.delete(key);
    else this.#served.set(key, completeness);
  }
}
