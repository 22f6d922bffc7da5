import type { AnswerBodyReader } from '../answer/answer-body-reader.ts';
import type { IndexerAnswer } from '../answer/ask.ts';
import type { Entry } from '../cache/entry.ts';
import { plainBodyOf } from '../cache/gzip.ts';
import { ProxyError } from '../errors.ts';
import { CLIENT_MISTAKES } from '../outcomes.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { BlockFacts, ListedBlock } from '../ton/block-facts.ts';
import { cacheKey } from '../ton/cache-key.ts';
import { headIn, NO_POINT } from '../ton/chain-point.ts';
import { isSurelyWhole } from '../ton/lists.ts';
import { blocks } from '../ton/operations/blocks.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { masterchainInfo } from '../ton/operations/masterchain-info.ts';
import { transactionsByMasterchainBlock } from '../ton/operations/transactions-by-masterchain-block.ts';
import { type Call, parseCall } from '../ton/parse-call.ts';
import {
  type AskThroughCacheDependencies,
  askPastCache,
  askThroughCache,
  type Got,
  isOfOurChain,
} from './ask-for-follower.ts';
import type { BlockSource, NamedHead, Page, PageOfRows } from './block-follower.ts';
import { NOT_SHARED, type SharedHeads } from './shared-heads.ts';

/**
 * A kept head, or a kept answer that a block is not there, is not used if it is older than this: newer blocks may
 * exist.
 */
const LATEST_MS: Ms = 100;

/** The operations that are requested. */
export const FOLLOWED = [masterchainInfo, blocks, masterchainBlockShards, transactionsByMasterchainBlock];

const WITHOUT_NAMES = { 'x-no-address-book': 'true' };

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

const pageOf = (query: string, headers = {}): Call => parseCall(transactionsByMasterchainBlock, query, headers);

export interface IndexerBlocksDependencies extends AskThroughCacheDependencies {
  readonly bodies: Pick<AnswerBodyReader, 'readBlocks'>;
  /** Absent when the proxy runs on memory alone. */
  readonly shared: Pick<SharedHeads, 'next' | 'share' | 'end'> | undefined;
  /** Called for each list and page that was requested for the follower, here or elsewhere, with the number of its rows. */
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
  /** True if the last head was below the known one. */
  #wasLow = false;

  constructor(dependencies: IndexerBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  async head(known: number): Promise<NamedHead | undefined> {
    const head = await this.#nextHead(known);
    this.#wasLow = head !== undefined && head.seqno < known;
    return head;
  }

  /** The head of another instance, or an own one. After a low head the indexer is asked. */
  async #nextHead(known: number): Promise<NamedHead | undefined> {
    const { shared, monotonic, onNeeded } = this.#dependencies;
    const next = this.#wasLow ? undefined : await shared?.next();
    if (next !== undefined && 'seqno' in next) {
      onNeeded();
      return next;
    }
    const turn = next ?? NOT_SHARED;
    const startedAt = monotonic();
    const call = parseCall(masterchainInfo, '', {});
    // With Redis, a kept head may be that of an instance with other indexers.
    const entry = (shared === undefined ? this.#latest(call) : undefined) ?? (await this.#ask(call, known));
    const isHead = entry !== undefined && !(entry instanceof ProxyError);
    const { seqno } = isHead ? headIn(await plainBodyOf(entry.content)) : NO_POINT;
    if (!isHead || seqno < 0) {
      shared?.end(turn);
      return undefined;
    }
    const { indexer } = entry.meta;
    shared?.share(turn, { seqno, indexer, askedAt: entry.askedAt - elsewhereMs(entry) }, monotonic() - startedAt);
    return { seqno, askedAt: this.#askedAt(entry), indexer };
  }

  async newest(
    known: number,
  ): Promise<{ readonly blocks: readonly ListedBlock[]; readonly askedAt: MonotonicMs } | undefined> {
    const entry = await this.#ask(NEWEST, known);
    if (entry === undefined || entry instanceof ProxyError) return undefined;
    const { blocks: listed } = await this.#factsOf(entry);
    this.#dependencies.onRows(listed.length);
    return { blocks: listed, askedAt: this.#askedAt(entry) };
  }

  async page(seqno: number, offset: number, limit: number, pastCache: boolean): Promise<Page | undefined> {
    const from = offset === 0 ? '' : `&offset=${offset}`;
    const own = pageOf(`seqno=${seqno}&limit=${limit}&sort=asc${from}`, WITHOUT_NAMES);
    const kept = offset === 0 && !pastCache ? await this.#wholeInMemory(seqno, own) : undefined;
    if (kept !== undefined) return kept;
    const got = await askThroughCache(this.#dependencies, own, pastCache);
    if (got === undefined) return undefined;
    if (got instanceof ProxyError) {
      return CLIENT_MISTAKES.includes(got.details.upstreamStatus ?? 0) ? 'refused' : undefined;
    }
    const askedAt = this.#askedAt(got.entry);
    if (got.entry.meta.answerClass !== 'absent') return this.#pageIn(got, own);
    // A kept 404 would hide a new block for a while.
    const isOld = this.#dependencies.monotonic() - askedAt > LATEST_MS && !pastCache;
    return isOld ? this.page(seqno, offset, limit, true) : { state: 'absent', askedAt };
  }

  async count(seqno: number): Promise<number | undefined> {
    // Without a limit first, because clients mostly send it so. One of the possible default limits may have cut the list.
    for (const limit of ['', '&limit=1000']) {
      const call = parseCall(masterchainBlockShards, `seqno=${seqno}${limit}`, {});
      const got = await askThroughCache(this.#dependencies, call);
      if (got === undefined || got instanceof ProxyError) return undefined;
      if (got.entry.meta.answerClass === 'final') return (await this.#factsOf(got.entry)).transactions;
    }
    return undefined;
  }

  /** A page in memory that shows the whole block, in the follower's form or in one of scanners. */
  async #wholeInMemory(seqno: number, own: Call): Promise<Page | undefined> {
    for (const call of [own, pageOf(`seqno=${seqno}`), pageOf(`seqno=${seqno}&limit=256&offset=0`)]) {
      const entry = this.#inMemory(call);
      const page = entry && (await this.#pageIn({ entry, isNeeded: false }, call));
      if (page?.isWhole === true) return page;
    }
    return undefined;
  }

  async #pageIn({ entry, isNeeded }: Got, { request }: Call): Promise<PageOfRows | undefined> {
    if (entry.meta.answerClass !== 'final-page') return undefined;
    const { rows } = await this.#factsOf(entry);
    if (isNeeded) this.#dependencies.onRows(rows?.length ?? 0);
    const isWhole = rows !== undefined && isSurelyWhole(rows, request);
    return rows && { state: 'there', rows, isWhole, askedAt: this.#askedAt(entry), indexer: entry.meta.indexer };
  }

  /** A cached answer that was requested a moment ago. */
  #latest(call: Call): Entry | undefined {
    const entry = this.#inMemory(call);
    return entry && this.#dependencies.monotonic() - this.#askedAt(entry) <= LATEST_MS ? entry : undefined;
  }

  #inMemory(call: Call): Entry | undefined {
    const { network, cache } = this.#dependencies;
    const found = cache.lookInMemory(cacheKey(network, call), call.tags);
    return found.state === 'fresh' && isOfOurChain(found.entry) ? found.entry : undefined;
  }

  /** Sends the request to the indexer, whatever the cache holds, and keeps the answer. */
  async #ask(call: Call, known = -1): Promise<Entry | ProxyError | undefined> {
    const keep = ({ entry }: IndexerAnswer) => {
      if (call !== NEWEST) this.#dependencies.cache.set(entry, call.tags);
    };
    return askPastCache(this.#dependencies, call, keep, known < 0 ? undefined : known);
  }

  async #factsOf(entry: Entry): Promise<BlockFacts> {
    return this.#dependencies.bodies.readBlocks(await plainBodyOf(entry.content));
  }

  /**
   * The instant of an answer's request, less its longest time in other caches, by the monotonic clock. Never later than
   * now, whatever the clock of the instance that requested it.
   */
  #askedAt(entry: Entry): MonotonicMs {
    const { now, monotonic } = this.#dependencies;
    return monotonic() - Math.max(0, now() - entry.askedAt) - elsewhereMs(entry);
  }
}

/** The longest time of an answer in other caches. */
function elsewhereMs({ ageValueSeconds, meta }: Entry): Ms {
  return meta.isAged === true ? (ageValueSeconds + 1) * 1000 : 0;
}
