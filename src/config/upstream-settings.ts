import { z } from 'zod';
import { apiKey, duration, group, integer, setting, size, upstreamUrls } from './values.ts';

const requestsPerSecond = integer(1, 100_000).optional();
const maxConcurrency = integer(1, 10_000).prefault(64);

/** Used only while no indexer of `upstream.url` can answer, or while all are full. */
const backup = group({
  url: setting(
    upstreamUrls.optional(),
    'Indexers that are used only while none of `upstream.url` can answer, or all are full. Each may have a login.',
    { env: 'UPSTREAM_BACKUP_URL', mayHoldSecret: true },
  ),
  apiKey: setting(apiKey.optional(), 'API key, sent to each backup as `X-Api-Key`.', {
    env: 'UPSTREAM_BACKUP_API_KEY',
    envOnly: true,
  }),
  maxConcurrency: setting(
    maxConcurrency,
    'Maximum concurrent requests for cached operations at each backup; above it requests wait.',
  ),
  requestsPerSecond: setting(requestsPerSecond, 'Maximum requests a second to each backup; see `UPSTREAM_RPS`.', {
    env: 'UPSTREAM_BACKUP_RPS',
  }),
});

export const upstream = z.strictObject({
  url: setting(
    upstreamUrls,
    'The indexer, with or without `/api/v3`. If it ends in `/v3`, this path replaces `/api/v3`, and toncache requests all other paths at the root of the host. Separate several equivalent indexers of one chain by commas. A percent-encoded login, `https://user:password@host`, is sent as Basic authentication.',
    { env: 'UPSTREAM_URL', mayHoldSecret: true },
  ),
  apiKey: setting(apiKey.optional(), 'API key, sent to each indexer in `UPSTREAM_URL` as `X-Api-Key`.', {
    env: 'UPSTREAM_API_KEY',
    envOnly: true,
  }),
  timeout: setting(
    duration('10ms', '5min').prefault('5s'),
    'Timeout of a request to the indexer, and the longest wait of a client for its response; above it the client gets 504.',
    { env: 'UPSTREAM_TIMEOUT' },
  ),
  maxConcurrency: setting(
    maxConcurrency,
    'Maximum concurrent requests for cached operations at each indexer; above it requests wait.',
    {
      env: 'UPSTREAM_MAX_CONCURRENCY',
    },
  ),
  requestsPerSecond: setting(
    requestsPerSecond,
    'Maximum requests a second to each indexer, for all instances on one Redis together; above it requests wait. No limit if not set. These instances must have the same values of this setting, `UPSTREAM_TIMEOUT`, `admission.patience` and `redis.budget`.',
    { env: 'UPSTREAM_RPS' },
  ),
  maxLag: setting(
    integer(1, 1_000_000).prefault(12),
    'Maximum lag of an indexer in blocks, compared with the newest block of all. Above it the indexer is used only while no other can answer.',
  ),
  backup,
  maxBodySize: setting(
    size('1KiB', '256MiB').prefault('8MiB'),
    'Maximum size of a response, before and after decompression; above it clients get 502. The largest known response has 1.5 MB.',
  ),
  maxBufferedSize: setting(
    size('1MiB', '16GiB').prefault('128MiB'),
    'Maximum bytes of all responses being read; above it misses are refused.',
  ),
  defaultPause: setting(
    duration('1ms', '10min').prefault('1s'),
    'Length of the pause of a key, or of all requests, after a 429 without `Retry-After`.',
  ),
  maxPause: setting(duration('1ms', '1h').prefault('60s'), 'Maximum length of a pause, whatever the `Retry-After`.'),
});
