import { z } from 'zod';
import { apiKey, duration, group, integer, setting, size, upstreamUrls } from './values.ts';

const requestsPerSecond = integer(1, 100_000).optional();
const maxConcurrency = integer(1, 10_000).prefault(64);

/** Used only while no indexer of `upstream.url` can answer, or while all are full. */
const backup = group({
  url: setting(
    upstreamUrls.optional(),
    'Indexers that toncache uses only while no healthy, up-to-date indexer of `upstream.url` can answer, or while all are full. Each may have a login.',
    { env: 'UPSTREAM_BACKUP_URL', mayHoldSecret: true },
  ),
  apiKey: setting(apiKey.optional(), 'API key that is sent to each backup as `X-Api-Key`.', {
    env: 'UPSTREAM_BACKUP_API_KEY',
    envOnly: true,
  }),
  maxConcurrency: setting(
    maxConcurrency,
    'Maximum number of concurrent requests for cached operations from one instance to each backup, apart from head polls and reads of blocks. Further misses wait.',
  ),
  requestsPerSecond: setting(requestsPerSecond, 'Maximum requests per second to each backup; see `UPSTREAM_RPS`.', {
    env: 'UPSTREAM_BACKUP_RPS',
  }),
});

export const upstream = z.strictObject({
  url: setting(
    upstreamUrls,
    'The URL of the indexer, with or without `/api/v3`. If its path ends in `/v3`, this path replaces `/api/v3`, and toncache requests other paths, such as `/api/v2`, at the root of the host. Separate several equivalent indexers of one chain with commas. toncache sends a percent-encoded login, `https://user:password@host`, as Basic authentication.',
    { env: 'UPSTREAM_URL', mayHoldSecret: true },
  ),
  apiKey: setting(apiKey.optional(), 'API key that is sent to each indexer in `UPSTREAM_URL` as `X-Api-Key`.', {
    env: 'UPSTREAM_API_KEY',
    envOnly: true,
  }),
  timeout: setting(
    duration('10ms', '5min').prefault('5s'),
    'Timeout of each request to the indexer, and the longest time that a client waits for its response. After this time, the client gets a stale response or an error. For a passed-through request, it limits the wait for the headers of the response and each pause in its body.',
    { env: 'UPSTREAM_TIMEOUT' },
  ),
  maxConcurrency: setting(
    maxConcurrency,
    'Maximum number of concurrent requests for cached operations from one instance to each indexer, apart from head polls and reads of blocks. Further misses wait.',
    {
      env: 'UPSTREAM_MAX_CONCURRENCY',
    },
  ),
  requestsPerSecond: setting(
    requestsPerSecond,
    'Maximum number of requests a second to each indexer, across all instances that share a Redis. Further misses wait. If not set, there is no limit. All these instances must use the same values for this setting, `UPSTREAM_TIMEOUT`, `admission.patience` and `redis.budget`.',
    { env: 'UPSTREAM_RPS' },
  ),
  maxLag: setting(
    integer(1, 1_000_000).prefault(12),
    'Maximum number of blocks by which an indexer may lag behind the newest block of all indexers. Above it, toncache uses the indexer only while no other can answer, or for a block that it has.',
  ),
  backup,
  maxBodySize: setting(
    size('1KiB', '256MiB').prefault('8MiB'),
    'Maximum size of a response for a cached operation, before and after decompression. For a larger response, clients get 502, unless toncache may pass the request through. The largest known response is 1.5 MB.',
  ),
  maxBufferedSize: setting(
    size('1MiB', '16GiB').prefault('128MiB'),
    'Maximum size of all responses that toncache is reading at the same time. Above it, misses are refused.',
  ),
  defaultPause: setting(
    duration('1ms', '10min').prefault('1s'),
    'Length of a pause, for a key or for all requests, after a 429 without `Retry-After`.',
  ),
  maxPause: setting(duration('1ms', '1h').prefault('60s'), 'Longest pause, even if `Retry-After` is longer.'),
});
