import { Chain } from '../../src/tools/simulator/chain.ts';
import { type DatabaseFall, Failover, Restore } from '../../src/tools/simulator/database-fall.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { BALANCE_METHOD } from '../../src/tools/simulator/get-methods.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { Trace } from '../../src/tools/simulator/trace.ts';
import { type RedisSentinels, startRedisSentinels } from '../support/redis-sentinels.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';
import { settableClock } from '../support/skewed-clock.ts';
import { someNetwork } from '../support/some-network.ts';
import { Instance } from './instance.ts';
import { liteServersOf } from './lite-servers.ts';
import { LostAnswers } from './lost-answers.ts';

export interface WorldOptions {
  /** The folder that contains the `src` under test, as a URL that ends in a slash. */
  readonly root: URL;
  readonly dialect: Dialect;
  readonly seed: number;
  readonly instances: number;
  /** The duration, ms: the chain keeps this much history. */
  readonly forMs: number;
  /** The Redis that the instances share. */
  readonly redis: 'none' | 'single' | 'sentinels' | 'with a clock to set';
  /**
   * True for two indexers with different addresses, instead of two replicas behind one address. The database of the
   * second one is always a little behind.
   */
  readonly twoIndexers: boolean;
  /** True for a chain without traces, on which half of the blocks have no jetton wallet. */
  readonly quiet?: boolean;
}

export const BLOCK_MS = 400;
/** Far enough behind to be seen in every comparison of the heads: more than a block. */
export const ALWAYS_LAGS_MS = 1.5 * BLOCK_MS;
/** The chain starts with this many blocks, so that a database that falls back has some left. */
const PAST_BLOCKS = 600;
/** A database falls back by this many blocks, and commits them again this many times faster than the chain. */
const [LOST_BLOCKS, CATCHING_UP] = [500, 3];
/** The time until it has all of them again. */
export const FALL_LASTS_MS = (LOST_BLOCKS * BLOCK_MS) / (CATCHING_UP - 1);
/** Of this many blocks every third is indexed this much later: after the three that follow it. */
const [DELAYED_BLOCKS, DELAY_MS] = [15, 3.5 * BLOCK_MS];

/** This many blocks are indexed in batches of eight. */
export const BATCHED_BLOCKS = 24;
const BATCH = 8;

/** The checker knows this much of the chain's future. */
export const AHEAD_MS = 9000;
/** Clients request traces of the last 15 s. */
const TRACES_BACK_MS = 15_000;
const LATENCY_MS = 20;
/** The batch window of the real classifier. */
const CLASSIFIER_MS = 100;
/** The idle accounts that clients poll: how many, how often each has a transaction, and how often a new one appears. */
const IDLE_ACCOUNTS = { count: 80, everyMs: 15_000, newcomerEveryMs: 4000 };
/** The owners of jettons that clients poll. Other accounts run in rounds of 0, 5 and 120. */
const STEADY = { holdersCount: 60, transferEveryMs: 150_000, mintEveryMs: 150_000 };
const JETTONS = { owners: 70, everyMs: 15_000, others: [0, 5, 0, 0, 5, 120, 0, 5], steady: STEADY };
/** One reads the balance, and the others the state. */
const PROVEN_METHODS = `get_wallet_address,get_wallet_data,get_jetton_data,get_nft_address_by_index,${BALANCE_METHOD}`;
/** A chain without traces, on which half of the blocks have no jetton wallet. */
const QUIET = { messagesPerBlock: 0, jettons: { ...JETTONS, everyMs: 60_000 } };
/** This many transactions fill a block: more than two pages of the largest size. */
const FULL_BLOCK = 2400;
/** The clock of an instance is set back by this much. */
const CLOCK_STEP_MS = -3_600_000;

/**
 * The simulated indexer (two replicas of it, or two indexers), the instances in front of it, and the Redis that they
 * share.
 */
export class World implements AsyncDisposable {
  readonly indexers: readonly [Indexer, ...Indexer[]];
  readonly instances: Instance[];
  readonly redis: RedisServer | RedisSentinels | undefined;
  /** The clock of Redis, if it can be set. */
  readonly redisClock: ShiftedClock | undefined;
  /** The falls of the databases of all replicas, the last one at the end. */
  readonly falls: DatabaseFall[] = [];
  readonly lost = new LostAnswers();
  readonly #chain: Chain;
  readonly #startInstance: () => Promise<Instance>;

  private constructor(
    chain: Chain,
    indexers: readonly [Indexer, ...Indexer[]],
    redis: RedisServer | RedisSentinels | undefined,
    redisClock: ShiftedClock | undefined,
    instances: Instance[],
    startInstance: () => Promise<Instance>,
  ) {
    this.#chain = chain;
    this.indexers = indexers;
    this.redis = redis;
    this.redisClock = redisClock;
    this.instances = instances;
    this.#startInstance = startInstance;
  }

  /** Resolves when every instance listens. */
  static async start(options: WorldOptions): Promise<World> {
    const { root, dialect, seed, instances, forMs, redis: kind, twoIndexers, quiet } = options;
    const historyBlocks = 2 * PAST_BLOCKS + Math.ceil((2 * forMs) / BLOCK_MS);
    const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
    const chain = () =>
      new Chain({
        startAt,
        seed,
        blockMs: BLOCK_MS,
        historyBlocks,
        invalidatedShare: 0.05,
        delayedShare: 0.4,
        classifierDelayMs: CLASSIFIER_MS,
        listsUnderWay: true,
        idle: IDLE_ACCOUNTS,
        jettons: JETTONS,
        ...(quiet === true && QUIET),
      });
    await using starting = new AsyncDisposableStack();
    const indexer = await startIndexer({ dialect, chain: chain(), replicaChains: twoIndexers ? [] : [chain()] });
    const second = twoIndexers ? await startIndexer({ dialect, chain: chain() }) : undefined;
    second?.replicas[0].lagDatabase(ALWAYS_LAGS_MS);
    const indexers = [indexer, ...(second === undefined ? [] : [second])] as const;
    for (const each of indexers) {
      const { faults, replicas } = each;
      starting.defer(() => each.close());
      faults.latencyMs = LATENCY_MS;
      faults.jitterMs = LATENCY_MS;
      // A chain creates its history when it is first read.
      for (const replica of replicas) void replica.chain;
    }
    const redisClock = kind === 'with a clock to set' ? starting.use(await ShiftedClock.make()) : undefined;
    const redis = await startSharedRedis(kind, redisClock);
    if (redis !== undefined) starting.use(redis);
    const environment = {
      UPSTREAM_URL: indexers.map(({ url }) => url).join(),
      NETWORK: someNetwork(),
      CACHE_OPERATIONS: 'all',
      PROVEN_METHODS,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      ...settableClock(CLOCK_STEP_MS),
    };
    const start = () => Instance.start(root, environment);
    const started = await Promise.all(Array.from({ length: instances }, start));
    starting.move();
    const world = new World(chain(), indexers, redis, redisClock, started, start);
    for (const each of indexers) each.liteServer = liteServersOf(() => world.chain);
    return world;
  }

  /** The first indexer; the only one if there are not two. */
  get indexer(): Indexer {
    return this.indexers[0];
  }

  /** The chain, some seconds ahead of the indexer: the future can be requested before it exists. */
  get chain(): Chain {
    this.#chain.advanceTo(Date.now() + AHEAD_MS);
    return this.#chain;
  }

  /**
   * A pending trace leaves all answers now, without an event. Every replica must have it already, or one would bring it
   * back.
   */
  vanish(externalHash: string): void {
    const now = Date.now();
    const replicas = this.indexers.flatMap((indexer) => indexer.replicas);
    if (replicas.some(({ chain }) => chain.trace(externalHash) === undefined)) return;
    for (const { chain } of replicas) chain.vanish(externalHash, now);
    this.chain.vanish(externalHash, now);
  }

  /** Something happens to traces that all replicas have, just after the future that the checker knows. */
  afflict(affliction: (chain: Chain, trace: Trace, at: number) => void): void {
    const at = Date.now() + AHEAD_MS + BLOCK_MS;
    const chains = this.indexers.flatMap(({ replicas }) => replicas.map(({ chain }) => chain));
    for (const trace of this.indexer.chain.recentTraces()) {
      if (trace.emulatedAt < at - TRACES_BACK_MS || trace.invalidated) continue;
      if (chains.some((chain) => chain.trace(trace.externalHash) === undefined)) continue;
      for (const chain of [...chains, this.chain]) affliction(chain, trace, at);
    }
  }

  /**
   * Every third of the next blocks is indexed after those that follow it, just after the future that the checker knows.
   */
  indexOutOfOrder(): void {
    this.#changeAhead((chain, first) => {
      for (let seqno = first; seqno < first + DELAYED_BLOCKS; seqno += 3) chain.delay(seqno, DELAY_MS);
    });
  }

  /**
   * Idle accounts have transactions in two blocks. The first block is indexed this much later, after the second one.
   */
  delayBlock(ms: number): void {
    this.#changeAhead((chain, seqno) => {
      for (const account of chain.idle.all) {
        for (const at of [seqno, seqno + 1]) chain.deposit(account, chain.clock.committedAt(at));
      }
      chain.delay(seqno, ms);
    });
  }

  /** The next blocks are indexed eight at once, just after the future that the checker knows. */
  indexInBatches(): void {
    this.#changeAhead((chain, first) => {
      for (let n = 0; n < BATCHED_BLOCKS; n++) chain.delay(first + n, (BATCH - 1 - (n % BATCH)) * BLOCK_MS);
    });
  }

  /** One block has very many transactions, also of idle accounts. */
  fillBlock(): void {
    this.#changeAhead((chain, seqno) => {
      const accounts = [...chain.idle.all, ...chain.accounts.wallets, ...chain.accounts.jettonWallets];
      for (let n = 0; n < FULL_BLOCK; n++) {
        const account = accounts[n % accounts.length];
        if (account !== undefined) chain.deposit(account, chain.clock.committedAt(seqno), n);
      }
    });
  }

  /** Changes a future block, just after the future that the checker knows, and the blocks after it, in all replicas. */
  #changeAhead(change: (chain: Chain, seqno: number) => void): void {
    const chains = [...this.indexers.flatMap(({ replicas }) => replicas.map(({ chain }) => chain)), this.chain];
    const seqno = this.chain.clock.seqnoFrom(Date.now() + AHEAD_MS + BLOCK_MS);
    for (const chain of chains) change(chain, seqno);
  }

  /** The databases of all replicas lose their newest blocks, and commit them again. */
  fallBack(): void {
    this.#fall(new Restore(Date.now(), LOST_BLOCKS * BLOCK_MS, CATCHING_UP));
  }

  /** The databases of all replicas lose their newest blocks, and stand still until they have everything again. */
  failOver(lostBlocks: number, lastsMs: number): void {
    this.#fall(new Failover(Date.now(), lostBlocks * BLOCK_MS, lastsMs));
  }

  #fall(fall: DatabaseFall): void {
    this.falls.push(fall);
    for (const { replicas } of this.indexers) for (const replica of replicas) replica.fallBack(fall);
  }

  /** Up to this instant of the chain the databases have committed everything, epoch ms. */
  get databaseAt(): number {
    const now = Date.now();
    return Math.min(now, ...this.falls.map((fall) => fall.databaseAt(now)));
  }

  /** Starts a new process in place of a killed one. */
  async replace(place: number): Promise<void> {
    const [dead] = this.instances.splice(place, 1, await this.#startInstance());
    await dead?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance[Symbol.asyncDispose]()));
    await this.redis?.[Symbol.asyncDispose]();
    await this.redisClock?.[Symbol.asyncDispose]();
    await Promise.all(this.indexers.map((indexer) => indexer.close()));
  }
}

async function startSharedRedis(kind: WorldOptions['redis'], clock: ShiftedClock | undefined) {
  if (kind === 'none') return undefined;
  if (kind === 'sentinels') return startRedisSentinels(BOUNDED);
  return startRedis({ ...BOUNDED, ...(clock && { environment: clock.environment }) });
}

const BOUNDED = { args: ['--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru'] };
