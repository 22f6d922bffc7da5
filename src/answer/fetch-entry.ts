import type { Entry } from '../cache/entry.ts';
import type { StoreOutcome, TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { Lease } from '../once/lease.ts';
import type { EventEffects } from '../push/apply-events.ts';
import type { IndexerAsker, IndexerQuestion, Obtained } from './ask-indexers.ts';
import type { Report } from './events.ts';
import { encodeFailure } from './shared-failure.ts';

export interface EntryFetcherDependencies {
  readonly asker: IndexerAsker;
  readonly cache: TieredCache;
  /** Absent where `stream.url` is not set. */
  readonly pushed: EventEffects | undefined;
  readonly report: Report;
}

/** One entry to be fetched, by a flight that has its ticket and perhaps a lease. */
export interface Fetch extends IndexerQuestion {
  readonly lease: Lease | undefined;
}

/** The result of a fetch. */
export interface Fetched {
  readonly from: 'upstream';
  /** The entry to serve: the indexer's answer, or the kept entry where that is more complete or was asked for later. */
  readonly entry: Entry;
  /** The status that the indexer answered with. */
  readonly status: number;
  readonly stored: StoreOutcome['outcome'];
}

/** Asks the indexer and stores its answer. Expected failures are values; a throw is a bug. */
export class EntryFetcher {
  readonly #dependencies: EntryFetcherDependencies;

  constructor(dependencies: EntryFetcherDependencies) {
    this.#dependencies = dependencies;
  }

  /** Ends the ticket and the lease in any case. */
  async fetch(fetch: Fetch): Promise<Fetched | ProxyError> {
    const { lease } = fetch;
    try {
      const result = await this.#dependencies.asker.ask(fetch);
      if (result instanceof ProxyError) {
        // Share indexer failures with waiting instances. Local refusals (overload, shutdown) only release the lease.
        if (result.wentForward) lease?.fail(encodeFailure(result));
        else lease?.release();
        return result;
      }
      return this.#keep(fetch, result);
    } catch (bug) {
      lease?.release();
      throw bug;
    }
  }

  /** Stores the answer before its slot goes to the next request, which looks into memory then. */
  #keep(fetch: Fetch, obtained: Obtained): Fetched {
    try {
      return this.#store(fetch, obtained);
    } finally {
      obtained.endTicket();
    }
  }

  #store({ call, lease, known }: Fetch, { entry, answer }: Obtained): Fetched {
    const { cache, pushed, report } = this.#dependencies;
    const operation = call.operation.name;
    const inMemory = pushed?.answered(entry, answer.facts.watchable);
    const onShared = (isShared: boolean) => (isShared ? lease?.settle() : lease?.release());
    const stored = cache.set(entry, { known, token: lease?.token, onShared, inMemory });
    const { status, answerClass } = entry.head;
    if (stored.outcome === 'stored') report({ name: 'stored', operation, answerClass });
    if (stored.outcome === 'regressed') report({ name: 'regressed', operation });
    return {
      from: 'upstream',
      entry: 'kept' in stored ? stored.kept : entry,
      status,
      stored: stored.outcome,
    };
  }
}
