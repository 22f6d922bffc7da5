import { LRUCache } from 'lru-cache';
import type { Completeness, Entry } from './entry.ts';
import { compareCompleteness } from './precedence.ts';

/** Of so many bytes of keys and rows is remembered what was served last: some thousand keys. */
const MAX_BYTES = 1024 * 1024;

/** What a key takes beside itself and its rows: objects, and a place in the LRU. */
const OVERHEAD_BYTES = 200;

/** More is not remembered of a key, so that a list of thousands of rows does not take the place of all others. */
const MAX_BYTES_OF_KEY = MAX_BYTES / 16;

/**
 * Counts answers that go back: less complete, in the order of `precedence.ts`, than what was served of their key before.
 * While the answer before is kept it is served instead. Once it is too old for that, was evicted or purged, or was not borne
 * out for so long that the indexer is believed, a replica that lags or a database that fell back is served. Pending traces
 * have no such order: of them the latest answer is right.
 */
export class WentBack {
  readonly #served = new LRUCache<string, Completeness>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_BYTES_OF_KEY,
    sizeCalculation: ({ members, tentative }, { length }) =>
      length + members.length + tentative.length + OVERHEAD_BYTES,
  });
  readonly #onWentBack: () => void;

  constructor(onWentBack: () => void) {
    this.#onWentBack = onWentBack;
  }

  /** To be called with each answer that is new to this process, when it is served: a hit was looked at as it came in. */
  look({ key, completeness }: Entry): void {
    const before = this.#served.get(key);
    if (before !== undefined && compareCompleteness(completeness, before) === 'less') this.#onWentBack();
    // Nothing is less than an answer that lists nothing.
    const { order = 0n, rank, members } = completeness;
    if (order === 0n && rank === 0 && members.length === 0) this.#served.delete(key);
    else this.#served.set(key, completeness);
  }
}
