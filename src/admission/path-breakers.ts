import { LRUCache } from 'lru-cache';
import { Breaker, type BreakerDependencies, type BreakerOptions } from './breaker.ts';

/** The most paths with a breaker; the least recently used one is dropped first. */
const MOST_PATHS = 300;

/** A circuit breaker for each path that is passed through: a failure on one path says nothing about another. */
export class PathBreakers {
  readonly #dependencies: BreakerDependencies;
  readonly #options: BreakerOptions;
  readonly #breakers = new LRUCache<string, Breaker>({ max: MOST_PATHS });

  constructor(dependencies: BreakerDependencies, options: BreakerOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** The breaker of a request target, whose query does not matter. */
  of(target: string): Breaker {
    const [path = ''] = target.split('?', 1);
    const known = this.#breakers.get(path);
    if (known !== undefined) return known;
    const breaker = new Breaker(this.#dependencies, this.#options);
    this.#breakers.set(path, breaker);
    return breaker;
  }
}
