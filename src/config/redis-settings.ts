import { certificateFile, duration, group, integer, redisUrl, setting, size } from './values.ts';

/** The group `redis`: its address, and the longest wait of a request for it. */
export const redis = group({
  url: setting(
    redisUrl.optional(),
    'Redis, the second tier: `redis://`, `rediss://`, `redis-cluster://` or `redis-sentinel://`. When not set, answers are cached in memory alone.',
    { env: 'REDIS_URL', envOnly: true },
  ),
  tlsCaFile: setting(
    certificateFile.optional(),
    "A PEM file with the authorities of Redis's certificates; the system's when not set. With it, connections to a Cluster and to sentinels use TLS.",
    { env: 'REDIS_TLS_CA_FILE' },
  ),
  budget: setting(
    duration('1ms', '10s').prefault('50ms'),
    'The time that all Redis work of one request shares; its reservation of `UPSTREAM_RPS` has as much again.',
  ),
  connectTimeout: setting(duration('10ms', '1min').prefault('1s'), 'How long a connection may take to open.'),
  commandTimeout: setting(
    duration('1ms', '1min').prefault('1s'),
    'How long a command may stay unanswered before its connection is replaced.',
  ),
  failuresToOpen: setting(integer(1, 1000).prefault(3), 'Failures in a row that open the circuit breaker of Redis.'),
  openDuration: setting(
    duration('10ms', '5min').prefault('1s'),
    'How long that circuit breaker stays open before one trial.',
  ),
  maxPendingWriteSize: setting(
    size('64KiB', '1GiB').prefault('16MiB'),
    'The most bytes of bodies that wait to be written, 64 KiB at least for each; more are dropped.',
  ),
}).refine(({ url, tlsCaFile }) => tlsCaFile === undefined || !url?.startsWith('redis://'), {
  path: ['tlsCaFile'],
  error: 'is not for redis://, which is without TLS: use rediss://',
});
