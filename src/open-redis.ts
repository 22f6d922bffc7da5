import { SCHEMA_VERSION } from './cache/entry-codec.ts';
import type { FormMaker } from './cache/form-maker.ts';
import { redisKeyFor } from './cache/redis-key.ts';
import { RedisTier } from './cache/redis-tier.ts';
import { RedisLease } from './coalescing/redis-lease.ts';
import type { Settings } from './config/schema.ts';
import type { EventHub } from './event-hub.ts';
import { readServerTime } from './redis/ask-server.ts';
import { type ConnectedRedis, connectRedis } from './redis/connect.ts';

/** How long a lease lasts without renewal, in milliseconds: waiters lose this much time when its holder is killed. */
const LEASE_MS = 1500;

/** In milliseconds. Most loads end before the first renewal; a lease survives one renewal that is lost or a second late. */
const RENEW_EVERY_MS = 500;

/** How long a lease is renewed beyond the timeout of one request, in milliseconds. */
const LEASE_SPARE_MS = 1000;

/** Never read or written: in a Cluster its slot chooses the node whose clock all instances follow. */
const CLOCK_KEY = 'toncache:clock';

/** What the instances on one Redis share. */
export interface SharedRedis {
  readonly connection: ConnectedRedis;
  readonly tier: RedisTier;
  readonly leases: RedisLease;
  /** The time of the Redis server, see {@link readServerTime}. */
  readonly serverTime: () => Promise<number | undefined>;
  /** Resolves once Redis is connected, or cannot be reached. Never rejects. */
  ready(): Promise<void>;
  /** Waits for the commands under way, each at most the command timeout, then closes the connections. */
  close(): Promise<void>;
}

export interface OpenRedisDependencies {
  readonly forms: FormMaker;
  /** Epoch milliseconds, the unit of all instants. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly events: EventHub;
}

/** Starts connecting and returns at once; `undefined` where no Redis is set. */
export function openRedis(
  { forms, now, monotonic, events }: OpenRedisDependencies,
  settings: Settings,
): SharedRedis | undefined {
  const { redis, upstream, coalescing, network } = settings;
  if (redis.url === undefined) return undefined;
  const connection = connectRedis(
    {
      url: redis.url,
      tlsCa: redis.tlsCaFile,
      connectTimeoutMs: redis.connectTimeout,
      commandTimeoutMs: redis.commandTimeout,
    },
    { onTransition: events.redisTransitions.report, onEvictionProblem: events.evictionProblems.report },
  );
  const redisKey = redisKeyFor(`toncache:${SCHEMA_VERSION}:${network}:`);
  const tier = new RedisTier(
    {
      connection,
      redisKey,
      toStore: (entry) => forms.toStore(entry),
      now,
      monotonic,
      report: events.redisCalls.report,
    },
    {
      budgetMs: redis.budget,
      breaker: { faults: redis.failuresToOpen, openMs: redis.retryAfter },
      maxPendingWrites: redis.maxPendingWrites,
      maxPendingWriteBytes: redis.maxPendingWriteSize,
    },
  );
  const leases = new RedisLease(
    {
      redis: connection,
      redisKey,
      now: monotonic,
    },
    {
      leaseMs: LEASE_MS,
      renewEveryMs: RENEW_EVERY_MS,
      // Long enough for a load that waits for the rate limit and then for the indexer.
      longestMs: upstream.timeout + LEASE_SPARE_MS,
      collapseWindowMs: coalescing.collapseWindow,
      failureTtlMs: coalescing.failureTtl,
      pollBudgetMs: redis.budget,
    },
  );
  return {
    connection,
    tier,
    leases,
    serverTime: () => readServerTime(connection, CLOCK_KEY),
    ready: connection.ready,
    close: async () => {
      await tier.idle();
      await leases.close();
      await connection.close();
    },
  };
}
