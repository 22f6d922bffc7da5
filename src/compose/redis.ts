import type { Entry } from '../cache/entry.ts';
import type { Gzip } from '../cache/gzip.ts';
import { entryKeysOf, leaseKeyOf } from '../cache/redis-keys.ts';
import { RedisTier } from '../cache/redis-tier.ts';
import { tryRedis } from '../cache/redis-trial.ts';
import type { RedisTransition } from '../redis/transitions.ts';
import type { AppContext } from './context.ts';

/**
 * Bodies being written use at most this part of the size of the memory tier, in addition to it: an instance with more
 * memory has more clients, and so more writes during a stall of Redis.
 */
const PENDING_WRITES_SHARE = 1 / 16;

/** The parts that the instances on one Redis share. */
export type SharedRedis = NonNullable<Awaited<ReturnType<typeof openRedis>>>;

export interface OpenRedisDependencies {
  readonly gzip: Gzip;
  /** True if an entry in Redis may be used. */
  readonly accepts: (entry: Entry) => boolean;
  readonly onTransition: (transition: RedisTransition) => void;
}

/** Starts connecting and waits for no reply; `undefined` without Redis. */
export async function openRedis(
  { settings, constants, events, names, now, monotonic }: AppContext,
  { gzip, accepts, onTransition }: OpenRedisDependencies,
) {
  const { redis, network, memory } = settings;
  const { connectTimeout, commandTimeout, failuresToOpen, openDuration } = constants.redis;
  if (redis.url === undefined) return undefined;
  // Loaded only on use: ioredis takes 5 MiB of memory.
  const { connectRedis } = await import('../redis/connect.ts');
  const redisKey = entryKeysOf(network);
  const connection = connectRedis({
    names,
    tryOut: (redis) => tryRedis(redis, redisKey),
    url: redis.url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: connectTimeout,
    commandTimeoutMs: commandTimeout,
    onTransition: (transition) => {
      events.report({ name: 'redis-transition', ...transition });
      onTransition(transition);
    },
    onReason: (reason) => events.report({ name: 'redis-error', reason }),
    onEvictionProblem: (problem) => events.report({ name: 'redis-evicts-nothing', problem }),
  });
  const tier = new RedisTier({
    connection,
    redisKey,
    toStore: (entry) => gzip.toStore(entry),
    accepts,
    now,
    monotonic,
    report: events.report,
    budgetMs: redis.budget,
    breaker: { faults: failuresToOpen, openMs: openDuration },
    maxPendingWriteBytes: memory.maxSize * PENDING_WRITES_SHARE,
  });
  return {
    connection,
    tier,
    /** The Redis key of the lease of an entry, by the entry's key. */
    leaseKey: (key: string): string => leaseKeyOf(redisKey(key)),
    /** Waits for the commands under way, each at most the command timeout, then closes the connections. */
    close: async (): Promise<void> => {
      await tier.close();
      await connection.close();
    },
  };
}
