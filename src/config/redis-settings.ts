import { certificateFile, duration, group, integer, redisUrl, setting, size } from './values.ts';

/** The group `redis`: its address, and the longest wait of a request for it. */
export const redis = group({
  url: setting(
    redisUrl.optional(),
    'Redis, the second tier: `redis://`, `rediss://`, `redis-cluster://` or `redis-sentinel://`. If not set, answers are cached only in memory.',
    { env: 'REDIS_URL', envOnly: true },
  ),
  tlsCaFile: setting(
    certificateFile.optional(),
    "A PEM file with the authorities of Redis's certificates; the system's if not set. With it, connections to a Cluster and to sentinels use TLS.",
    { env: 'REDIS_TLS_CA_FILE' },
  ),
  budget: setting(
    duration('1ms', '10s').prefault('50ms'),
    'Time limit for all Redis work of one request; its reservation of `UPSTREAM_RPS` has as much again. Above it the request continues without Redis.',
  ),
  connectTimeout: setting(duration('10ms', '1min').prefault('1s'), 'Timeout of opening a connection.'),
  commandTimeout: setting(
    duration('1ms', '1min').prefault('1s'),
    'Timeout of a command; after it the connection is replaced.',
  ),
  failuresToOpen: setting(
    integer(1, 1000).prefault(3),
    'Number of failures in a row that open the circuit breaker of Redis.',
  ),
  openDuration: setting(
    duration('10ms', '5min').prefault('1s'),
    'Time for which this circuit breaker stays open before one trial.',
  ),
  maxPendingWriteSize: setting(
    size('64KiB', '1GiB').prefault('16MiB'),
    'Maximum bytes of bodies that wait to be written, counted as at least 64 KiB each; further bodies are dropped.',
  ),
}).refine(({ url, tlsCaFile }) => tlsCaFile === undefined || !url?.startsWith('redis://'), {
  path: ['tlsCaFile'],
  error: 'is not for redis://, which is without TLS: use rediss://',
});
