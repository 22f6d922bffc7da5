import { redisKeyFor } from './cache/redis-key.ts';
import { RedisTier, type RedisTierEvent } from './cache/redis-tier.ts';
import { RedisLease } from './coalescing/redis-lease.ts';
import type { Settings } from './config/schema.ts';
import { type ConnectedRedis, connectRedis } from './redis/connect.ts';
import type { EvictionProblem } from './redis/report-eviction.ts';
import type { RedisTransition } from './redis/transitions.ts';
import { SCHEMA_VERSION } from './ton/cache-key.ts';

/** What a lease lasts beyond the timeout of one request, in milliseconds. */
const LEASE_SPARE_MS = 1000;

/** What the instances on one Redis share. */
export interface SharedRedis {
  readonly connection: ConnectedRedis;
  readonly tier: RedisTier;
  readonly leases: RedisLease;
}

/** What it is opened with. */
export interface OpenRedisOptions {
  readonly settings: Settings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly report: (event: RedisTierEvent) => void;
  readonly onTransition: (transition: RedisTransition) => void;
  readonly onEvictionProblem: (problem: EvictionProblem) => void;
}

/** Starts connecting and returns at once; `undefined` where no Redis is set. */
export function openRedis({
  settings,
  now,
  monotonic,
  report,
  onTransition,
  onEvictionProblem,
}: OpenRedisOptions): SharedRedis | undefined {
  const { redis, upstream, coalescing, network } = settings;
  if (redis.url === undefined) return undefined;
  const connection = connectRedis({
    url: redis.url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: redis.connectTimeout,
    commandTimeoutMs: redis.commandTimeout,
    onTransition,
    onEvictionProblem,
  });
  const redisKey = redisKeyFor(`toncache:${SCHEMA_VERSION}:${network}:`);
  const tier = new RedisTier({
    connection,
    redisKey,
    budgetMs: redis.budget,
    breaker: { faults: redis.failuresToOpen, restMs: redis.retryAfter },
    maxPendingWrites: redis.maxPendingWrites,
    maxPendingWriteBytes: redis.maxPendingWriteSize,
    now,
    report,
  });
  const leases = new RedisLease({
    redis: connection,
    redisKey,
    // A flight that waits for the rate and then for the indexer ends within it.
    leaseMs: upstream.timeout + LEASE_SPARE_MS,
    followableMs: coalescing.joinable,
    restAfterFailureMs: coalescing.restAfterFailure,
    pollBudgetMs: redis.budget,
    now: monotonic,
  });
  return { connection, tier, leases };
}
