import { certificateFile, duration, group, redisUrl, setting } from './values.ts';

/** The group `redis`: its address, and the longest wait of a request for it. */
export const redis = group({
  url: setting(
    redisUrl.optional(),
    'The URL of Redis, the second cache tier: `redis://`, `rediss://`, `redis-cluster://` or `redis-sentinel://`. If not set, responses are cached only in memory.',
    { env: 'REDIS_URL', envOnly: true },
  ),
  tlsCaFile: setting(
    certificateFile.optional(),
    "PEM file with the CA certificates for Redis. If not set, toncache uses the system's CAs. If set, connections to a Cluster and to sentinels use TLS.",
    { env: 'REDIS_TLS_CA_FILE' },
  ),
  budget: setting(
    duration('1ms', '10s').prefault('50ms'),
    'Time limit for the Redis calls in which a request reads its entry and takes its lease. A reservation for `UPSTREAM_RPS`, and each look at the load of another instance, has a limit of the same length. Above it, the request continues without Redis.',
  ),
}).refine(({ url, tlsCaFile }) => tlsCaFile === undefined || !url?.startsWith('redis://'), {
  path: ['tlsCaFile'],
  error: 'is not for redis://, which is without TLS: use rediss://',
});
