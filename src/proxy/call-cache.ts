import type { Entry } from '../cache/entry.ts';
import type { Lookup, TieredCache } from '../cache/tiered-cache.ts';
import type { KeyedCall } from '../ton/call-memo.ts';
import type { Call } from '../ton/parse-call.ts';
import { shortListKey } from '../ton/short-list.ts';

/** From the best to the worst. */
const STATES: readonly Lookup['state'][] = ['fresh', 'stale-while-revalidate', 'stale-if-error', 'miss'];

type Lookups = Pick<TieredCache, 'lookInMemory' | 'lookUp' | 'lookForFallback' | 'isPurged'>;

/**
 * Looks calls up in the cache under their own key and, where a short list can answer them, also under the short list's
 * key, which calls with different limits share.
 */
export class CallCache {
  readonly #cache: Lookups;

  constructor(cache: Lookups) {
    this.#cache = cache;
  }

  /** See {@link TieredCache.lookInMemory}. */
  lookInMemory({ key, shortKey }: Pick<KeyedCall, 'key' | 'shortKey'>): Lookup {
    const found = this.#cache.lookInMemory(key);
    const isEnough = found.state === 'fresh' || shortKey === undefined;
    return isEnough ? found : better(found, this.#cache.lookInMemory(shortKey));
  }

  /**
   * See {@link TieredCache.lookUp}: asks for both keys at once. The stamp is that of the call's own key, because the
   * lease is for that key.
   */
  lookUp(call: Call, key: string): Lookup | Promise<Lookup> {
    const own = this.#cache.lookUp(key);
    const shortKey = shortListKey(call, key);
    if (shortKey === undefined) return own;
    const list = this.#cache.lookUp(shortKey);
    // Without Redis there are no stamps.
    if (!(own instanceof Promise || list instanceof Promise)) return better(own, list);
    return Promise.all([own, list]).then(([found, other]) => ({ ...better(found, other), stamp: found.stamp }));
  }

  /** See {@link TieredCache.lookForFallback}. */
  lookForFallback(call: Call, key: string): Lookup {
    const found = this.#cache.lookForFallback(key);
    const shortKey = shortListKey(call, key);
    return shortKey === undefined ? found : better(found, this.#cache.lookForFallback(shortKey));
  }

  /** See {@link TieredCache.isPurged}. */
  isPurged(entry: Entry): boolean {
    return this.#cache.isPurged(entry);
  }
}

/** The better of the two. A 404 for all limits may come from a replica that lags, so a usable entry of the own key wins. */
function better(own: Lookup, list: Lookup): Lookup {
  if ('entry' in list && list.entry.head.status === 404 && own.state !== 'miss') return own;
  return STATES.indexOf(list.state) < STATES.indexOf(own.state) ? list : own;
}
