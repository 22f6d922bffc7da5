import { z } from 'zod';
import { clients } from './client-settings.ts';
import { http } from './http-settings.ts';
import { lifetimes } from './lifetime-settings.ts';
import { redis } from './redis-settings.ts';
import { stream } from './stream-settings.ts';
import { upstream } from './upstream-settings.ts';
import { about, duration, flag, integer, share, size, word } from './values.ts';

const operationShare = (fraction: number) =>
  share
    .prefault(fraction)
    .meta(about('Fraction of the slots for this operation. Three quarters of it are lent to the others while unused.'));

const admission = z
  .strictObject({
    patience: duration('1ms', '5min')
      .prefault('1.5s')
      .meta(
        about('How long a request may wait for a slot at the indexer. One that would wait longer is refused at once.'),
      ),
    overloadedPatience: duration('1ms', '5min')
      .prefault('100ms')
      .meta(about('The same while other requests are being refused.')),
    maxQueue: integer(0, 1_000_000).prefault(10_000).meta(about('The most requests that wait for a slot.')),
    shares: z
      .strictObject({
        pendingTraces: operationShare(0.4),
        adjacentTransactions: operationShare(0.3),
        masterchainBlockShards: operationShare(0.2),
      })
      .refine((shares) => Object.values(shares).reduce((sum, part) => sum + part, 0) <= 1.000_001, {
        error: 'must not add up to more than 1',
      })
      .prefault({}),
    maxMemory: share
      .prefault(0.9)
      .meta(
        about(
          "Above this share of the container's memory limit (RSS), or of what V8's old generation can use, misses are refused; hits are still answered.",
        ),
      ),
  })
  .prefault({});

const breaker = z
  .strictObject({
    minimumThroughput: integer(1, 100_000)
      .prefault(20)
      .meta(about('The fewest keys of an operation in 10 s of which half must fail before its circuit breaker opens.')),
    openDuration: duration('10ms', '5min')
      .prefault('2s')
      .meta(about('How long the circuit breaker stays open before one trial.')),
    longestOpenDuration: duration('10ms', '1h')
      .prefault('5s')
      .meta(about('Each failed trial doubles the open duration up to this.')),
  })
  .prefault({});

const passThrough = z
  .strictObject({
    enabled: flag
      .prefault(false)
      .meta(about('Whether the rest of the API is passed through, uncached.', { env: 'PASSTHROUGH' })),
    sharedKey: flag.prefault(false).meta(
      about('Whether passed-through requests without a key are sent with `UPSTREAM_API_KEY`.', {
        env: 'PASSTHROUGH_SHARED_KEY',
      }),
    ),
    maxBodySize: size('1KiB', '64MiB')
      .prefault('1MiB')
      .meta(about('The largest body of a request that is passed through.')),
    maxReading: size('1KiB', '16GiB')
      .prefault('64MiB')
      .meta(about('The most bytes of request bodies being read at once; beyond it requests with a body get 503.')),
    maxConcurrency: integer(1, 10_000)
      .prefault(32)
      .meta(about('The most requests passed through at the indexer at once, beside `upstream.maxConcurrency`.')),
    maxTransfers: integer(1, 100_000)
      .prefault(256)
      .meta(about('The most answers on their way to clients at once; beyond it requests get 503.')),
  })
  .prefault({});

const memory = z
  .strictObject({
    maxSize: size('1MiB', '1024GiB')
      .prefault('256MiB')
      .meta(about('The most bytes in the memory tier, overhead included.', { env: 'MEMORY_MAX_SIZE' })),
    maxEntries: integer(1, 10_000_000)
      .prefault(500_000)
      .meta(
        about('The most entries in the memory tier. A full garbage collection pauses for about 40 ms per 100 000.'),
      ),
  })
  .prefault({});

const compression = z
  .strictObject({
    enabled: flag
      .prefault(true)
      .meta(about('Whether answers are sent as gzip to clients that accept it.', { env: 'COMPRESSION' })),
  })
  .prefault({});

const coalescing = z
  .strictObject({
    collapseWindow: duration('1ms', '1min')
      .prefault('1s')
      .meta(about('How long after its start a load can be joined by requests for the same key.')),
    failureTtl: duration('0ms', '1min')
      .prefault('250ms')
      .meta(about('How long a failed load answers requests for the same key.')),
  })
  .prefault({});

/**
 * All settings: type, default, bounds, unit and description are defined here and nowhere else. The JSON Schema for
 * editors and docs/settings.md are generated from it.
 */
export const settingsSchema = z.strictObject({
  $schema: z.string().optional().meta(about('For editors.')),
  network: word.prefault('mainnet').meta(about('The chain, part of every key.', { env: 'NETWORK' })),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .prefault('info')
    .meta(about('The least severe level that is logged.', { env: 'LOG_LEVEL' })),
  logRequests: z
    .enum(['off', 'failed', 'slow', 'all'])
    .prefault('off')
    .meta(
      about(
        'Which requests for the operations get a line in the log: those answered with 5xx (at most 10 a second), also those that took a second, or all. `all` turns `http.fastLane` off.',
        { env: 'LOG_REQUESTS' },
      ),
    ),
  logRequestsSample: share
    .prefault(1)
    .meta(about('Part of these requests that is logged; failed ones always are.', { env: 'LOG_REQUESTS_SAMPLE' })),
  upstream,
  admission,
  breaker,
  redis,
  memory,
  compression,
  stream,
  http,
  clients,
  passThrough,
  coalescing,
  lifetimes,
});

/** All settings, validated: durations in milliseconds, sizes in bytes. */
export type Settings = z.output<typeof settingsSchema>;
