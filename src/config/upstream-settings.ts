import { z } from 'zod';
import { about, duration, headerValue, integer, size, upstreamUrls } from './values.ts';

const requestsPerSecond = integer(1, 100_000).optional();
const maxConcurrency = integer(1, 10_000).prefault(64);

/** Asked only while no indexer of `upstream.url` can answer, or while all are full. */
const backup = z
  .strictObject({
    url: upstreamUrls.optional().meta(
      about('Indexers that are asked only while none of `upstream.url` can answer, or all are full.', {
        env: 'UPSTREAM_BACKUP_URL',
      }),
    ),
    apiKey: headerValue
      .optional()
      .meta(about('Sent to the backup as `X-Api-Key`.', { env: 'UPSTREAM_BACKUP_API_KEY', envOnly: true })),
    maxConcurrency: maxConcurrency.meta(about('The most requests for the three operations at each backup at once.')),
    requestsPerSecond: requestsPerSecond.meta(
      about('The most requests a second to each backup; see `UPSTREAM_RPS`.', { env: 'UPSTREAM_BACKUP_RPS' }),
    ),
  })
  .prefault({});

/** The indexers. */
export const upstream = z.strictObject({
  url: upstreamUrls.meta(
    about('The indexer, with or without `/api/v3`; several equal ones of one chain are separated by commas.', {
      env: 'UPSTREAM_URL',
    }),
  ),
  apiKey: headerValue
    .optional()
    .meta(about('Sent to each indexer of `UPSTREAM_URL` as `X-Api-Key`.', { env: 'UPSTREAM_API_KEY', envOnly: true })),
  timeout: duration('10ms', '5min')
    .prefault('5s')
    .meta(
      about('How long the indexer may take for an answer, and how long a client waits for one.', {
        env: 'UPSTREAM_TIMEOUT',
      }),
    ),
  maxConcurrency: maxConcurrency.meta(
    about('The most requests for the three operations at each indexer at once.', { env: 'UPSTREAM_MAX_CONCURRENCY' }),
  ),
  requestsPerSecond: requestsPerSecond.meta(
    about(
      'The most requests a second to each indexer, for all instances on one Redis together; not limited when not set.',
      { env: 'UPSTREAM_RPS' },
    ),
  ),
  maxLag: integer(1, 1_000_000)
    .prefault(12)
    .meta(
      about(
        'An indexer whose newest block is older than that of another one by more blocks than this is asked only while no other can answer.',
      ),
    ),
  backup,
  maxBodySize: size('1KiB', '256MiB')
    .prefault('8MiB')
    .meta(
      about('The largest answer that is read, before and after decompression; the largest known answer has 1.5 MB.'),
    ),
  maxReading: size('1MiB', '16GiB')
    .prefault('128MiB')
    .meta(about('The most bytes of answers being read at once; beyond it misses are shed.')),
  pause: duration('1ms', '10min')
    .prefault('1s')
    .meta(about('How long misses pause after a 429 without `Retry-After`.')),
  longestPause: duration('1ms', '1h')
    .prefault('60s')
    .meta(about('The longest pause, whatever `Retry-After` asks for.')),
});
