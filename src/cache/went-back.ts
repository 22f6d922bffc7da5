import { LRUCache } from 'lru-cache';
import type { Completeness, Entry } from './entry.ts';
import { compareCompleteness } from './precedence.ts';

/** So many keys are remembered, those that were loaded last: half a megabyte, and 8 bytes for each row of a list. */
const MAX_KEYS = 4096;

/**
 * Sees answers that go back: less complete, in the order of `precedence.ts`, than what was served of their key before. While
 * the answer before is kept it is served instead. Once it is too old for that, was evicted or purged, or was not borne out for
 * so long that the indexer is believed, a replica that lags or a database that fell back is served. Pending traces have no
 * such order: of them the latest answer is right.
 */
export class WentBack {
  readonly #served = new LRUCache<string, Completeness>({ max: MAX_KEYS });
  readonly #onWentBack: () => void;

  constructor(onWentBack: () => void) {
    this.#onWentBack = onWentBack;
  }

  /** To be called with each answer that is new to this process, when it is served: a hit was looked at as it came in. */
  look({ key, completeness }: Entry): void {
    const before = this.#served.get(key);
    if (before !== undefined && compareCompleteness(completeness, before) === 'less') this.#onWentBack();
    this.#served.set(key, completeness);
  }
}
