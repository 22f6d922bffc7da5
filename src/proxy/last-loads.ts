import { LRUCache } from 'lru-cache';
import type { StoreOutcome } from '../cache/tiered-cache.ts';
import type { ErrorCode } from '../errors.ts';
import type { EntryLoader, Load } from './load-entry.ts';

/** The result of a key's last load that went to the indexer or was refused. */
export interface LastLoad {
  /** When it ended, epoch milliseconds. */
  readonly at: number;
  readonly outcome: StoreOutcome['outcome'] | ErrorCode;
  /** Whether the answer was kept and why, as a text for people. */
  readonly why: string;
  /** What the indexer answered with, if it did. */
  readonly upstreamStatus: number | undefined;
}

/** The part of an {@link EntryLoader} that others use. */
export type Loader = Pick<EntryLoader, 'load'>;

/** At most this many keys are remembered, of at most so many characters each: about a megabyte. */
const MAX_KEYS = 1000;
const MAX_KEY_LENGTH = 1000;

const WHY: Readonly<Record<StoreOutcome['outcome'], string>> = {
  stored: 'kept: it can be cached',
  expired: 'not kept: its load took longer than its lifetime and stale windows',
  purged: 'not kept: a purge came while it was loaded',
  'too-large': 'not kept: it is larger than a sixteenth of MEMORY_MAX_SIZE, and Redis did not take it',
  regressed: 'not kept: it is less complete than the cached answer, which was served instead (replica lag)',
  superseded: 'not kept: the cached answer was requested later than this one',
};

/** Remembers the last loads for `GET /explain`. Costs nothing on a hit, which loads nothing. */
export class LastLoads {
  readonly #loads = new LRUCache<string, LastLoad>({ max: MAX_KEYS });
  readonly #now: () => number;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get(key: string): LastLoad | undefined {
    return this.#loads.peek(key);
  }

  /** Wraps a loader, so that its loads are remembered. */
  remembering(loader: Loader): Loader {
    return {
      load: async (call, key, flight, ...how) => {
        const load = await loader.load(call, key, flight, ...how);
        this.#add(key, load);
        return load;
      },
    };
  }

  #add(key: string, load: Load): void {
    if (key.length > MAX_KEY_LENGTH) return;
    const at = this.#now();
    if (load.from === 'upstream') {
      this.#loads.set(key, { at, outcome: load.stored, why: WHY[load.stored], upstreamStatus: load.status });
    } else if (load.from === 'nowhere') {
      const { code, message, upstreamStatus } = load.error;
      this.#loads.set(key, { at, outcome: code, why: `no answer to keep: ${message}`, upstreamStatus });
    }
  }
}
