import type { AnswerBodyReader } from '../answer/answer-body-reader.ts';
import type { Load, Loader } from '../answer/load-entry.ts';
import { Wait } from '../answer/wait.ts';
import type { Entry } from '../cache/entry.ts';
import { plainBodyOf } from '../cache/gzip.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { SingleFlight } from '../once/single-flight.ts';
import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { BlockFacts, ListedBlock } from '../ton/block-facts.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { headIn } from '../ton/chain-point.ts';
import { blocks } from '../ton/operations/blocks.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { masterchainInfo } from '../ton/operations/masterchain-info.ts';
import { transactionsByMasterchainBlock } from '../ton/operations/transactions-by-masterchain-block.ts';
import { type Call, parseCall } from '../ton/parse-call.ts';
import { type AskPastCacheDependencies, askPastCache, isOfOurChain } from './ask-past-cache.ts';
import type { BlockSource, Looked, NamedHead, Page } from './block-follower.ts';

/**
 * A kept head, or a kept answer that a block is not there, is not used if it is older than this: newer blocks may
 * exist.
 */
const LATEST_MS: Ms = 100;

/** The operations that are requested. */
export const FOLLOWED = [masterchainInfo, blocks, masterchainBlockShards, transactionsByMasterchainBlock];

/** An answer, and whether it was requested from the indexer for the follower. */
interface Got {
  readonly entry: Entry;
  readonly isLoaded: boolean;
}

/** The newest blocks, for the start. This call has no cached form. */
const NEWEST: Call = {
  operation: blocks,
  request: {
    query: [
      ['workchain', '-1'],
      ['sort', 'desc'],
      ['limit', '1000'],
    ],
    headers: [],
  },
  tags: [],
};

export interface IndexerBlocksDependencies extends AskPastCacheDependencies {
  readonly cache: Pick<TieredCache, 'lookInMemory' | 'set'>;
  readonly flights: Pick<SingleFlight<Load>, 'join' | 'hasWaitingFlight'>;
  /** Loads with the admission of the follower. */
  readonly loader: Loader;
  readonly bodies: Pick<AnswerBodyReader, 'readBlocks'>;
  /** The timeout of an answer. */
  readonly timeoutMs: Ms;
  /** Called for each list and page that was requested from the indexer for the follower, with the number of its rows. */
  readonly onRows: (rows: number) => void;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
}

/**
 * Reads blocks for the block follower, through the cache and the flights that clients use. So a block that a scanner
 * reads too is loaded once.
 */
export class IndexerBlocks implements BlockSource {
  readonly #dependencies: IndexerBlocksDependencies;

  constructor(dependencies: IndexerBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  async head(): Promise<NamedHead | undefined> {
    const call = parseCall(masterchainInfo, '', {});
    const entry = this.#latest(call) ?? (await this.#ask(call));
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const { seqno } = headIn(await plainBodyOf(entry.content));
    return seqno < 0 ? undefined : { seqno, askedAt: this.#askedAt(entry), indexer: entry.meta.indexer };
  }

  async newest(): Promise<{ readonly blocks: readonly ListedBlock[]; readonly askedAt: MonotonicMs } | undefined> {
    const entry = await this.#ask(NEWEST);
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const { blocks: listed } = await this.#factsOf(entry);
    this.#dependencies.onRows(listed.length);
    return { blocks: listed, askedAt: this.#askedAt(entry) };
  }

  async look(seqno: number, pastCache: boolean): Promise<Looked | undefined> {
    return this.#look(seqno, '', pastCache);
  }

  async page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined> {
    const from = offset === 0 ? '' : `&offset=${offset}`;
    const query = `seqno=${seqno}&limit=${limit}&sort=asc${from}`;
    const call = parseCall(transactionsByMasterchainBlock, query, { 'x-no-address-book': 'true' });
    const got = await this.#get(call, pastCache);
    if (got === undefined) return undefined;
    if (got instanceof ProxyError) {
      return CLIENT_MISTAKES.includes(got.details.upstreamStatus ?? 0) ? 'refused' : undefined;
    }
    const { rows } = await this.#factsOf(got.entry);
    if (got.isLoaded) this.#dependencies.onRows(rows?.length ?? 0);
    return rows && { rows, askedAt: this.#askedAt(got.entry), indexer: got.entry.meta.indexer };
  }

  /** `limit`: absent in the first request, because clients mostly send it so. */
  async #look(seqno: number, limit: '' | '&limit=1000', pastCache: boolean): Promise<Looked | undefined> {
    const call = parseCall(masterchainBlockShards, `seqno=${seqno}${limit}`, {});
    const got = await this.#get(call, pastCache);
    if (got === undefined || got instanceof ProxyError) return undefined;
    const { entry } = got;
    const askedAt = this.#askedAt(entry);
    const { answerClass } = entry.meta;
    if (answerClass === 'absent') {
      return this.#dependencies.monotonic() - askedAt > LATEST_MS && !pastCache
        ? this.#look(seqno, limit, true)
        : { state: 'absent', askedAt };
    }
    // The list has as many blocks as one of the possible default limits, which may have cut it.
    if (answerClass === 'final-page' && limit === '') return this.#look(seqno, '&limit=1000', pastCache);
    // A list that may be incomplete does not show the number of transactions.
    const { transactions } = answerClass === 'final' ? await this.#factsOf(entry) : { transactions: undefined };
    return { state: 'there', askedAt, transactions };
  }

  /** The entry of a call from the cache, or loaded. A failure that the indexer reported is a {@link ProxyError}. */
  async #get(call: Call, pastCache: boolean): Promise<Got | ProxyError | undefined> {
    const { network, cache, flights, loader, timeoutMs } = this.#dependencies;
    const key = cacheKey(network, call);
    const found = cache.lookInMemory(key, call.tags);
    if (!pastCache && found.state === 'fresh' && isOfOurChain(found.entry))
      return { entry: found.entry, isLoaded: false };
    // Does not wait for a client's flight in the backlog: the follower goes first.
    if (pastCache || found.state === 'fresh' || flights.hasWaitingFlight(key)) {
      const entry = await this.#ask(call);
      return entry === undefined || entry instanceof ProxyError ? entry : { entry, isLoaded: true };
    }
    const wait = new Wait(timeoutMs);
    const end = await flights.join(key, wait, (flight) => loader.load(call, key, flight, false));
    wait.close();
    if (end.state === 'left') return undefined;
    const load = end.value;
    if (load.kind === 'failed') return load.error;
    if (!isOfOurChain(load.entry)) return undefined;
    if (load.kind === 'loaded') this.#dependencies.onAnswered();
    return { entry: load.entry, isLoaded: load.kind === 'loaded' && !end.collapsed };
  }

  /** A cached answer that was requested a moment ago. */
  #latest(call: Call): Entry | undefined {
    const { network, cache, monotonic } = this.#dependencies;
    const found = cache.lookInMemory(cacheKey(network, call), call.tags);
    if (found.state !== 'fresh' || !isOfOurChain(found.entry)) return undefined;
    return monotonic() - this.#askedAt(found.entry) <= LATEST_MS ? found.entry : undefined;
  }

  /** Sends the request to the indexer, whatever the cache holds, and keeps the answer. */
  async #ask(call: Call): Promise<Entry | ProxyError | undefined> {
    return askPastCache(this.#dependencies, call, ({ entry }) => {
      if (call !== NEWEST) this.#dependencies.cache.set(entry, call.tags);
    });
  }

  async #factsOf(entry: Entry): Promise<BlockFacts> {
    return this.#dependencies.bodies.readBlocks(await plainBodyOf(entry.content));
  }

  /**
   * The instant of an answer's request, less its longest time in other caches, by the monotonic clock. Never later than
   * now, whatever the clock of the instance that requested it.
   */
  #askedAt({ askedAt, ageValueSeconds, meta }: Entry): MonotonicMs {
    const { now, monotonic } = this.#dependencies;
    const elsewhereMs = meta.isAged === true ? (ageValueSeconds + 1) * 1000 : 0;
    return monotonic() - Math.max(0, now() - askedAt) - elsewhereMs;
  }
}
