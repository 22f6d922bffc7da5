import { Chain } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { type RedisSentinels, startRedisSentinels } from '../support/redis-sentinels.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { settableClock } from '../support/skewed-clock.ts';
import { someNetwork } from '../support/some-network.ts';
import { Instance } from './instance.ts';

/** What a world is made of. */
export interface WorldOptions {
  /** The folder that holds the `src` that is checked, as a URL that ends in a slash. */
  readonly root: URL;
  readonly dialect: Dialect;
  readonly seed: number;
  readonly instances: number;
  /** How long it is to last, ms: so much history the chain keeps. */
  readonly forMs: number;
  /** Which Redis the instances share. */
  readonly redis: 'none' | 'single' | 'sentinels';
  /** Whether the instances are connected to the stream of the indexer. */
  readonly streams: boolean;
}

const BLOCK_MS = 400;
const PAST_BLOCKS = 300;
/** So much of the chain's future is known to the checker. */
const AHEAD_MS = 6000;
const LATENCY_MS = 20;
/** The batch window of the real classifier. */
const CLASSIFIER_MS = 100;
/** By so much the clock of an instance is set back. */
const CLOCK_STEP_MS = -3_600_000;

/** The simulated indexer (two replicas of it), the instances before it, and the Redis that they share. */
export class World implements AsyncDisposable {
  readonly indexer: Indexer;
  readonly instances: Instance[];
  readonly redis: RedisServer | RedisSentinels | undefined;
  readonly #chain: Chain;
  readonly #startInstance: () => Promise<Instance>;

  private constructor(
    chain: Chain,
    indexer: Indexer,
    redis: RedisServer | RedisSentinels | undefined,
    instances: Instance[],
    startInstance: () => Promise<Instance>,
  ) {
    this.#chain = chain;
    this.indexer = indexer;
    this.redis = redis;
    this.instances = instances;
    this.#startInstance = startInstance;
  }

  /** Resolves when every instance listens. */
  static async start({ root, dialect, seed, instances, forMs, redis: kind, streams }: WorldOptions): Promise<World> {
    const historyBlocks = 2 * PAST_BLOCKS + Math.ceil((2 * forMs) / BLOCK_MS);
    const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
    const chain = () =>
      new Chain({
        startAt,
        seed,
        blockMs: BLOCK_MS,
        historyBlocks,
        invalidatedShare: 0.05,
        classifierDelayMs: CLASSIFIER_MS,
      });
    await using starting = new AsyncDisposableStack();
    const indexer = await startIndexer({ dialect, chain: chain(), replicaChains: [chain()] });
    starting.defer(() => indexer.close());
    indexer.faults.latencyMs = LATENCY_MS;
    indexer.faults.jitterMs = LATENCY_MS;
    const redis =
      kind === 'none' ? undefined : kind === 'single' ? await startRedis(BOUNDED) : await startRedisSentinels(BOUNDED);
    if (redis !== undefined) starting.use(redis);
    const environment = {
      UPSTREAM_URL: indexer.url,
      NETWORK: someNetwork(),
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      ...(streams ? { STREAM_URL: indexer.streamUrl } : {}),
      ...settableClock(CLOCK_STEP_MS),
    };
    const start = () => Instance.start(root, environment);
    const started = await Promise.all(Array.from({ length: instances }, start));
    starting.move();
    return new World(chain(), indexer, redis, started, start);
  }

  /** The chain, some seconds further on than the indexer: what is to come can be asked for before it is there. */
  get chain(): Chain {
    this.#chain.advanceTo(Date.now() + AHEAD_MS);
    return this.#chain;
  }

  /** A pending trace leaves all answers now, and no event says it. Not before every replica has it: or one brings it back. */
  vanish(externalHash: string): void {
    const now = Date.now();
    if (this.indexer.replicas.some(({ chain }) => chain.trace(externalHash) === undefined)) return;
    for (const { chain } of this.indexer.replicas) chain.vanish(externalHash, now);
    this.chain.vanish(externalHash, now);
  }

  /** Puts a new process in the place of one that was killed. */
  async replace(place: number): Promise<void> {
    const [dead] = this.instances.splice(place, 1, await this.#startInstance());
    await dead?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance[Symbol.asyncDispose]()));
    await this.redis?.[Symbol.asyncDispose]();
    await this.indexer.close();
  }
}

const BOUNDED = { args: ['--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru'] };
