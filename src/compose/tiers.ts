import { Gzip } from '../cache/gzip.ts';
import { MemoryTier } from '../cache/memory-tier.ts';
import { banKeysOf } from '../cache/redis-keys.ts';
import { Purges } from '../purge/purges.ts';
import type { connectRedis } from '../redis/connect.ts';
import type { EpochMs, MonotonicMs } from '../time-units.ts';
import { operationOf } from '../ton/cache-key.ts';
import { longestUseMs } from '../ton/lifetime.ts';
import type { AppContext } from './context.ts';
import { openRedis } from './redis.ts';
import { restBytesOf } from './rest.ts';

/** Both tiers, and the purges of their entries. */
export type Tiers = ReturnType<typeof openTiers>;

export interface OpenTiersDependencies {
  /** See {@link loadRedisClient}. */
  readonly connect: typeof connectRedis | undefined;
  /** The name under which this process counts as an instance; empty if it does not: see `app.ts`. */
  readonly instance: string | undefined;
  /** Called with Redis' time at each of its answers, and with the instant of the request. */
  readonly onServerTime: (time: EpochMs, sentAt: MonotonicMs) => void;
}

/** Builds memory, Redis, and what they share. Starts connecting, and waits for no reply. */
export function openTiers(context: AppContext, { connect, instance, onServerTime }: OpenTiersDependencies) {
  const { settings, lifetimes, events, metrics, now, monotonic } = context;
  const { memory: bounds, compression, network } = settings;
  const memory = new MemoryTier({
    now,
    maxSizeBytes: bounds.maxSize - restBytesOf(settings),
    onEvicted: () => events.report({ name: 'evicted' }),
  });
  metrics.gauge('memory_tier_bytes', 'Bytes in the memory tier, including overhead.', () => memory.sizeBytes);
  metrics.gauge('memory_tier_max_bytes', 'Maximum size of the memory tier in bytes.', () => bounds.maxSize);
  metrics.gauge('memory_tier_entries', 'Entries in the memory tier.', () => memory.count);
  const gzip = new Gzip({
    onChange: (entry) => memory.resize(entry),
    onPacked: () => events.report({ name: 'compressed' }),
    enabled: compression.enabled,
  });
  const redis = openRedis(context, {
    connect,
    gzip,
    provableMs: ({ key, meta }) =>
      meta.status === 200 && operationOf(key)?.evidence !== undefined ? settings.proof.maxAge : 0,
  });
  const pendingWrites = () => redis?.tier.pendingWrites ?? 0;
  metrics.gauge('redis_pending_writes', 'Writes to Redis in progress.', pendingWrites);
  const purges = new Purges({
    runScript: redis?.connection.runScript,
    now,
    monotonic,
    onServerTime,
    report: events.report,
    instance,
    keys: banKeysOf(network),
    usableMs: longestUseMs(lifetimes),
  });
  redis?.onTransition(purges.onRedisTransition);
  return {
    memory,
    gzip,
    /** Absent when the proxy runs on memory alone. */
    redis,
    purges,
    /** The number of instances on one Redis, including this one. */
    instances: (): number => purges.instances,
  };
}
