import { redisKeyFor } from './cache/redis-key.ts';
import { RedisTier, type RedisTierEvent } from './cache/redis-tier.ts';
import { RedisLease } from './coalescing/redis-lease.ts';
import type { Settings } from './config/schema.ts';
import { type ConnectedRedis, connectRedis } from './redis/connect.ts';
import type { EvictionProblem } from './redis/report-eviction.ts';
import { ServerClock } from './redis/server-clock.ts';
import type { RedisTransition } from './redis/transitions.ts';
import { SCHEMA_VERSION } from './ton/cache-key.ts';

/** A lease lasts so long without renewal: what a killed instance costs those who wait for it, in milliseconds. */
const LEASE_MS = 1500;

/** Nearly all loads end sooner and cost no renewal; one that is lost, or late by a second, does not lose the lease. */
const RENEW_EVERY_MS = 500;

/** How long a lease is renewed beyond the timeout of one request, in milliseconds. */
const LEASE_SPARE_MS = 1000;

/** Never written: in a Cluster it chooses the node whose clock all instances follow. */
const CLOCK_KEY = 'toncache:clock';

/** What the instances on one Redis share. */
export interface SharedRedis {
  readonly connection: ConnectedRedis;
  readonly tier: RedisTier;
  readonly leases: RedisLease;
  /** The time that instants are written in, epoch milliseconds: that of the Redis server. */
  readonly now: () => number;
  /** Milliseconds that the server's clock is ahead of this machine's. */
  readonly clockOffsetMs: () => number;
  /** Resolves once all of it can be used, or Redis cannot be reached. Never rejects. */
  ready(): Promise<void>;
  /** Lets what is under way come to its end, each within the command timeout, and ends the connections. */
  close(): Promise<void>;
}

/** What it is opened with. */
export interface OpenRedisOptions {
  readonly settings: Settings;
  /** A clock that is followed instead of the server's, epoch milliseconds. */
  readonly now: (() => number) | undefined;
  readonly monotonic: () => number;
  readonly report: (event: RedisTierEvent) => void;
  readonly onTransition: (transition: RedisTransition) => void;
  readonly onEvictionProblem: (problem: EvictionProblem) => void;
  /** The time that instants are written in is another one than before. */
  readonly onJump: () => void;
}

/** Starts connecting and returns at once; `undefined` where no Redis is set. */
export function openRedis({
  settings,
  now: ownNow,
  monotonic,
  report,
  onTransition,
  onEvictionProblem,
  onJump,
}: OpenRedisOptions): SharedRedis | undefined {
  const { redis, upstream, coalescing, network } = settings;
  if (redis.url === undefined) return undefined;
  const connection = connectRedis({
    url: redis.url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: redis.connectTimeout,
    commandTimeoutMs: redis.commandTimeout,
    onTransition: (transition) => {
      if (transition.state === 'connected') void clock.refresh();
      onTransition(transition);
    },
    onEvictionProblem,
  });
  const clock = new ServerClock({ runScript: connection.runScript, key: CLOCK_KEY, now: Date.now, monotonic, onJump });
  const now = ownNow ?? (() => clock.now());
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
    leaseMs: LEASE_MS,
    renewEveryMs: RENEW_EVERY_MS,
    // A load that waits for the rate and then for the indexer ends within it.
    longestMs: upstream.timeout + LEASE_SPARE_MS,
    followableMs: coalescing.joinable,
    restAfterFailureMs: coalescing.restAfterFailure,
    pollBudgetMs: redis.budget,
    now: monotonic,
  });
  return {
    connection,
    tier,
    leases,
    now,
    clockOffsetMs: () => clock.offsetMs,
    ready: async () => {
      await connection.ready();
      await clock.refresh();
    },
    close: async () => {
      clock.close();
      await tier.idle();
      await leases.close();
      await connection.close();
    },
  };
}
