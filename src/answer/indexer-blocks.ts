import type { Admission } from '../admission/admission.ts';
import type { Entry } from '../cache/entry.ts';
import { plainBodyOf } from '../cache/gzip.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import type { BlockSource, Looked, Page } from '../chain/block-follower.ts';
import { ProxyError } from '../errors.ts';
import { ofLoad } from '../fleet/lanes.ts';
import type { Flight, SingleFlight } from '../once/single-flight.ts';
import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { BlockFacts, ListedBlock } from '../ton/block-facts.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { headIn } from '../ton/chain-point.ts';
import { blocks } from '../ton/operations/blocks.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { masterchainInfo } from '../ton/operations/masterchain-info.ts';
import { transactionsByMasterchainBlock } from '../ton/operations/transactions-by-masterchain-block.ts';
import { type Call, parseCall, seqnoOf } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { Indexers } from './indexers.ts';
import type { Load, Loader } from './load-entry.ts';
import { Wait } from './wait.ts';

/**
 * A kept head, or a kept answer that a block is not there, is not used if it is older than this: newer blocks may
 * exist.
 */
const LATEST_MS: Ms = 100;

/** The newest blocks, for the start. This call has no cached form. */
const NEWEST: Call = {
  operation: blocks,
  request: {
    query: [
      ['workchain', '-1'],
      ['sort', 'desc'],
      ['limit', '150'],
    ],
    headers: [],
  },
  tags: [],
};

export interface IndexerBlocksDependencies {
  readonly network: string;
  readonly cache: TieredCache;
  readonly flights: SingleFlight<Load>;
  /** Loads with the admission of the follower. */
  readonly loader: Loader;
  /** The same, past the cache. */
  readonly indexers: Pick<Indexers, 'ask'>;
  readonly admission: Pick<Admission, 'enter'>;
  readonly bodies: Pick<AnswerBodyReader, 'readBlocks'>;
  /** The timeout of an answer. */
  readonly timeoutMs: Ms;
  /** Called for each answer of the indexer that is not a failure. */
  readonly onAnswered: () => void;
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

  async head(): Promise<{ readonly seqno: number; readonly askedAt: MonotonicMs } | undefined> {
    const call = parseCall(masterchainInfo, '', {});
    const entry = this.#latest(call) ?? (await this.#ask(call));
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const { seqno } = headIn(await plainBodyOf(entry.content));
    return seqno < 0 ? undefined : { seqno, askedAt: this.#askedAt(entry) };
  }

  async newest(): Promise<{ readonly blocks: readonly ListedBlock[]; readonly askedAt: MonotonicMs } | undefined> {
    const entry = await this.#ask(NEWEST);
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const facts = await this.#factsOf(entry);
    return { blocks: facts.blocks, askedAt: this.#askedAt(entry) };
  }

  async look(seqno: number, pastCache: boolean): Promise<Looked | undefined> {
    const call = parseCall(masterchainBlockShards, `seqno=${seqno}`, {});
    const entry = await this.#get(call, pastCache);
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const askedAt = this.#askedAt(entry);
    const { answerClass } = entry.meta;
    if (answerClass === 'absent') {
      return this.#dependencies.monotonic() - askedAt > LATEST_MS && !pastCache
        ? this.look(seqno, true)
        : { state: 'absent', askedAt };
    }
    // A list that may be incomplete does not show the number of transactions.
    const { transactions } = answerClass === 'final' ? await this.#factsOf(entry) : { transactions: undefined };
    return { state: 'there', askedAt, transactions };
  }

  async page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined> {
    const from = offset === 0 ? '' : `&offset=${offset}`;
    const query = `seqno=${seqno}&limit=${limit}&sort=asc${from}`;
    const call = parseCall(transactionsByMasterchainBlock, query, { 'x-no-address-book': 'true' });
    const entry = await this.#get(call, pastCache);
    if (entry === undefined) return undefined;
    if (entry instanceof ProxyError) {
      return CLIENT_MISTAKES.includes(entry.details.upstreamStatus ?? 0) ? 'refused' : undefined;
    }
    return (await this.#factsOf(entry)).rows;
  }

  /** The entry of a call from the cache, or loaded. A failure that the indexer reported is a {@link ProxyError}. */
  async #get(call: Call, pastCache: boolean): Promise<Entry | ProxyError | undefined> {
    const { network, cache, flights, loader, timeoutMs } = this.#dependencies;
    const key = cacheKey(network, call);
    if (pastCache) return this.#ask(call);
    const found = cache.lookInMemory(key, call.tags);
    if (found.state === 'fresh') return found.entry;
    // Does not wait for a client's flight in the backlog: the follower goes first.
    if (flights.hasWaitingFlight(key)) return this.#ask(call);
    const wait = new Wait(timeoutMs);
    const end = await flights.join(key, wait, (flight) => loader.load(call, key, flight, false));
    wait.close();
    if (end.state === 'left') return undefined;
    const load = end.value;
    if (load.from === 'nowhere') return load.error;
    if (load.from === 'upstream') this.#dependencies.onAnswered();
    return load.entry;
  }

  /** A cached answer that was requested a moment ago. */
  #latest(call: Call): Entry | undefined {
    const { network, cache, monotonic } = this.#dependencies;
    const found = cache.lookInMemory(cacheKey(network, call), call.tags);
    return found.state === 'fresh' && monotonic() - this.#askedAt(found.entry) <= LATEST_MS ? found.entry : undefined;
  }

  /** Sends the request to the indexer, whatever the cache holds, and keeps the answer. */
  async #ask(call: Call): Promise<Entry | ProxyError | undefined> {
    const { network, admission, indexers, cache, onAnswered } = this.#dependencies;
    const key = cacheKey(network, call);
    const flight = newFlight();
    const lane = ofLoad(false, seqnoOf(call));
    const request = { operation: call.operation.name, key, lane, clients: flight.clients, sentFor: flight };
    const ticket = await admission.enter(request);
    if ('reason' in ticket) return undefined;
    const question = { call, request, flight, trace: [], ticket, known: undefined };
    const answer = await indexers.ask(question, ({ entry }) => {
      if (call !== NEWEST) cache.set(entry, call.tags);
      return entry;
    });
    if (!(answer instanceof ProxyError)) onAnswered();
    return answer;
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

/** A load that nobody follows. */
function newFlight(): Flight {
  return { isAbandoned: false, signal: new AbortController().signal, clients: new Set(), depart: () => {} };
}
