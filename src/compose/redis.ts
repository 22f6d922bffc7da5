import type { Entry } from '../cache/entry.ts';
import type { Gzip } from '../cache/gzip.ts';
import { entryKeysOf, leaseKeyOf } from '../cache/redis-keys.ts';
import { RedisTier } from '../cache/redis-tier.ts';
import { tryRedis } from '../cache/redis-trial.ts';
import type { Settings } from '../config/schema.ts';
import type { connectRedis } from '../redis/connect.ts';
import type { RedisTransition } from '../redis/transitions.ts';
import type { Ms } from '../time-units.ts';
import type { AppContext } from './context.ts';

/**
 * Bodies being written use at most this part of the size of the memory tier, in addition to it: an instance with more
 * memory has more clients, and so more writes during a stall of Redis.
 */
const PENDING_WRITES_SHARE = 1 / 16;

/** The parts that the instances on one Redis share. */
export type SharedRedis = NonNullable<ReturnType<typeof openRedis>>;

/** Loads the client of Redis only for an app that uses it: ioredis takes 5 MiB of memory. */
export async function loadRedisClient({ redis }: Settings): Promise<typeof connectRedis | undefined> {
  return redis.url === undefined ? undefined : (await import('../redis/connect.ts')).connectRedis;
}

export interface OpenRedisDependencies {
  /** See {@link loadRedisClient}. */
  readonly connect: typeof connectRedis | undefined;
  readonly gzip: Gzip;
  /** See `RedisTierDependencies`. */
  readonly provableMs: (entry: Entry) => Ms;
}

/** Starts connecting and waits for no reply; `undefined` without Redis. */
export function openRedis(
  { settings, constants, events, names, now, monotonic }: AppContext,
  { connect, gzip, provableMs }: OpenRedisDependencies,
) {
  const { redis, network, memory } = settings;
  const { connectTimeout, commandTimeout, failuresToOpen, openDuration } = constants.redis;
  if (redis.url === undefined || connect === undefined) return undefined;
  const redisKey = entryKeysOf(network);
  let told: (transition: RedisTransition) => void = () => {};
  const connection = connect({
    names,
    tryOut: (redis) => tryRedis(redis, redisKey),
    url: redis.url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: connectTimeout,
    commandTimeoutMs: commandTimeout,
    onTransition: (transition) => {
      events.report({ name: 'redis-transition', ...transition });
      told(transition);
    },
    onReason: (reason) => events.report({ name: 'redis-error', reason }),
    onEvictionProblem: (problem) => events.report({ name: 'redis-evicts-nothing', problem }),
  });
  const tier = new RedisTier({
    connection,
    redisKey,
    toStore: (entry) => gzip.toStore(entry),
    provableMs,
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
    /** From now on calls this when Redis was connected, or the connection was lost. Call once. */
    onTransition: (tell: (transition: RedisTransition) => void): void => {
      told = tell;
    },
    /** Repeats the trial of a new connection: a Redis that can only be read counts as connected. Rejects with its error. */
    tryOut: (): Promise<void> => tryRedis(connection, redisKey),
    /** The Redis key of the lease of an entry, by the entry's key. */
    leaseKey: (key: string): string => leaseKeyOf(redisKey(key)),
    /** Waits for the commands under way, each at most the command timeout, then closes the connections. */
    close: async (): Promise<void> => {
      await tier.close();
      await connection.close();
    },
  };
}
