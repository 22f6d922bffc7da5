import { z } from 'zod';
import { http, isOwnUrl } from './http-settings.ts';
import { lifetimes } from './lifetime-settings.ts';
import { furtherOperations, OPERATIONS_DESCRIPTION } from './operations-setting.ts';
import { passedPaths } from './passed-paths.ts';
import { redis } from './redis-settings.ts';
import { upstream } from './upstream-settings.ts';
import {
  duration,
  flag,
  group,
  headerValue,
  integer,
  networks,
  pathPrefixes,
  setting,
  share,
  size,
  streamUrl,
  word,
} from './values.ts';

/** The group `clients`: how clients are identified, and the limits of each. */
const clients = group({
  trustedProxies: setting(
    networks.optional(),
    'Addresses and networks of proxies in front of toncache, comma-separated, like `10.0.0.0/8`: from these the `X-Forwarded-For` header names the client. Otherwise the client is the address of the connection.',
    { env: 'TRUSTED_PROXIES' },
  ),
  requestsPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum requests of one client a second, hits included, and at once; above it they get 429. No limit if not set.',
  ),
  missesPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum misses of one client a second, and at once; above it they get 429, or a stale response. Hits are always answered. No limit if not set.',
  ),
  showAddresses: setting(
    flag.prefault(false),
    'If on, the log and the status page show whole addresses of clients instead of their networks.',
  ),
});

/** The group `proof`: answers about accounts that blocks prove. */
const proof = group({
  maxAge: setting(
    duration('0s', '10min').prefault('60s'),
    'Longest time for which blocks prove a response with names, metadata or interfaces, which change without a block; at 0 such responses are not proven.',
  ),
  maxAgePlain: setting(
    duration('0s', '10min').prefault('5min'),
    'Longest time for which blocks prove a response without names, metadata or interfaces, as with `X-No-Address-Book: true`.',
  ),
});

/** The group `stream`: the Streaming API v2, for streams of clients. */
const stream = group({
  url: setting(
    streamUrl.optional(),
    'The Streaming API v2 for streams of clients, `ws://` or `wss://`; without a path `/api/streaming/v2/ws` is added. If not set, the first indexer.',
    { env: 'STREAM_URL' },
  ),
  apiKey: setting(
    headerValue.optional(),
    'Sent to `STREAM_URL` as `X-API-Key`, for clients without a key; see `PASSTHROUGH_SHARED_KEY`.',
    {
      env: 'STREAM_API_KEY',
      envOnly: true,
    },
  ),
});

const admission = group({
  patience: setting(
    duration('1ms', '5min').prefault('1.5s'),
    'Maximum wait of a request for a slot at the indexer. A request that would wait longer is refused immediately.',
  ),
  maxMemoryShare: setting(
    share.refine((part) => part > 0, { error: 'must be more than 0: at 0 every miss is refused' }).prefault(0.9),
    "Share of the container's memory limit (RSS), or of the usable old generation of V8. Above it misses are refused; hits are still answered.",
  ),
});

const passThrough = group({
  enabled: setting(
    passedPaths.prefault(false),
    'If on, the rest of the API (all paths below `passThrough.prefixes`) is passed through, uncached, and so is the Streaming API below `/api/streaming/`. Or the names of the paths below `/api/v3/` that are passed through, separated by commas, like `message,jetton/wallets`; `streaming` names the Streaming API.',
    {
      env: 'PASSTHROUGH',
    },
  ),
  sharedKey: setting(
    flag.prefault(false),
    'If on, passed-through requests without a key are sent with `UPSTREAM_API_KEY`, and streams to the host of `STREAM_URL` with `STREAM_API_KEY`.',
    { env: 'PASSTHROUGH_SHARED_KEY' },
  ),
  prefixes: setting(
    pathPrefixes.prefault('/api/v3/'),
    'Beginnings of the paths that are passed through, comma-separated: `/api/v3/,/api/v2/,/api/emulate/`, or `/api/` for all. Paths of cached operations are never passed through.',
    { env: 'PASSTHROUGH_PREFIXES' },
  ),
  maxBodySize: setting(
    size('1KiB', '64MiB').prefault('1MiB'),
    'Maximum size of the body of a passed-through request; above it clients get 413.',
  ),
  maxConcurrency: setting(
    integer(1, 10_000).prefault(32),
    'Maximum concurrent passed-through requests at the indexer, in addition to `upstream.maxConcurrency`; above it requests wait.',
  ),
  maxStreams: setting(
    integer(1, 100_000).prefault(64),
    'Maximum concurrent requests to the Streaming API (streams of clients); above it they get 503. With `PASSTHROUGH_SHARED_KEY` each uses one of the parallel connections of your plan.',
  ),
  maxStreamsPerClient: setting(
    integer(1, 100_000).prefault(8),
    'Maximum concurrent requests to the Streaming API of one client, identified by its address; above it they get 429.',
  ),
});

const memory = group({
  maxSize: setting(
    size('1MiB', '1024GiB').prefault('256MiB'),
    'Maximum size of the memory tier, overhead included; above it the least recently used entries are evicted.',
    { env: 'MEMORY_MAX_SIZE' },
  ),
});

const compression = group({
  enabled: setting(flag.prefault(true), 'If on, responses are sent as gzip to clients that accept it.', {
    env: 'COMPRESSION',
  }),
});

const all = z.strictObject({
  $schema: setting(z.string().optional(), 'For editors.'),
  network: setting(
    word.prefault('mainnet'),
    'The TON network, such as `mainnet` or `testnet`: part of every key. An indexer of another network gets no requests.',
    {
      env: 'NETWORK',
    },
  ),
  logLevel: setting(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).prefault('info'),
    'The lowest level that is logged.',
    { env: 'LOG_LEVEL' },
  ),
  logRequests: setting(
    z.enum(['off', 'failed', 'slow', 'all']).prefault('off'),
    'Requests for the operations that get a line in the log: `failed` for those answered with 5xx (at most 10 a second), `slow` for these and those that took a second, or `all`. `all` turns `http.fastLane` off.',
    { env: 'LOG_REQUESTS' },
  ),
  logRequestsSample: setting(
    share.prefault(1),
    'Share of these requests that is logged, 0 to 1; failed ones always are.',
    {
      env: 'LOG_REQUESTS_SAMPLE',
    },
  ),
  operations: setting(furtherOperations.optional(), OPERATIONS_DESCRIPTION, { env: 'CACHE_OPERATIONS' }),
  upstream,
  admission,
  redis,
  memory,
  compression,
  stream,
  http,
  clients,
  passThrough,
  lifetimes,
  proof,
});

/**
 * All settings: type, default, bounds, unit and description are defined here and nowhere else. The JSON Schema for
 * editors and docs/reference/settings.md are generated from it.
 */
export const settingsSchema = all
  .refine(
    ({ http: own, upstream: { url, backup } }) => ![...url, ...(backup.url ?? [])].some((each) => isOwnUrl(own, each)),
    {
      path: ['upstream', 'url'],
      error: 'must not lead to toncache itself (PORT or ADMIN_PORT), nor must that of the backup',
    },
  )
  .refine(({ passThrough: { enabled, prefixes } }) => !Array.isArray(enabled) || prefixes.join() === '/api/v3/', {
    path: ['passThrough', 'prefixes'],
    error: 'must be /api/v3/ if PASSTHROUGH names paths, which are below it',
  });

/** All settings, validated: durations in milliseconds, sizes in bytes. */
export type Settings = z.output<typeof settingsSchema>;
