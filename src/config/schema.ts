import { z } from 'zod';
import { http, isOwnUrl } from './http-settings.ts';
import { lifetimes } from './lifetime-settings.ts';
import { furtherOperations, OPERATIONS_DESCRIPTION } from './operations-setting.ts';
import { passedPaths } from './passed-paths.ts';
import { redis } from './redis-settings.ts';
import { upstream } from './upstream-settings.ts';
import {
  apiKey,
  duration,
  flag,
  group,
  integer,
  methodNames,
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
    'Addresses and networks of proxies in front of toncache, comma-separated, like `10.0.0.0/8`. The `X-Forwarded-For` header of their requests names the client. Otherwise the address of the connection identifies the client.',
    { env: 'TRUSTED_PROXIES' },
  ),
  requestsPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum requests of one client a second, including hits, and ten times as many at once; further requests get 429. No limit if not set.',
  ),
  missesPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum misses of one client a second, and ten times as many at once; further misses get 429, or a stale response. Hits are always answered. No limit if not set.',
  ),
  showAddresses: setting(
    flag.prefault(false),
    'If on, the log and the status page show whole addresses of clients instead of their networks.',
  ),
});

/** The group `proof`: answers about accounts that blocks prove. */
const proof = group({
  methods: setting(
    methodNames.prefault('get_wallet_address,get_wallet_data,get_jetton_data,get_nft_data'),
    'The get-methods whose results are proven by a quiet account, separated by commas; `off`: none. Name only methods that read nothing but the state of their contract ([more](../start/your-clients.md#get-methods)).',
    { env: 'PROVEN_METHODS' },
  ),
  maxAge: setting(
    duration('0s', '10min').prefault('5min'),
    'Longest time for which blocks prove a response. Names and metadata in it change without a block. Responses with interfaces or `mintless_info`, and results of get-methods, are proven for at most 60 s; at 0 nothing is proven.',
    { env: 'PROOF_MAX_AGE' },
  ),
});

/** The group `stream`: the Streaming API v2, for streams of clients. */
const stream = group({
  url: setting(
    streamUrl.optional(),
    'The Streaming API v2 for streams of clients, `ws://` or `wss://`; without a path `/api/streaming/v2/ws` is added. If not set, toncache uses the first indexer.',
    { env: 'STREAM_URL' },
  ),
  apiKey: setting(
    apiKey.optional(),
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
    'If on, all other paths below `passThrough.prefixes` are passed through without caching, and so is the Streaming API below `/api/streaming/`. A comma-separated list of paths below `/api/v3/`, like `message,jetton/wallets`, passes only these through; `streaming` in the list means the Streaming API.',
    {
      env: 'PASSTHROUGH',
    },
  ),
  sharedKey: setting(
    flag.prefault(false),
    'If on, passed-through requests without a key are sent with `UPSTREAM_API_KEY` and the login in `UPSTREAM_URL`, and streams to the host of `STREAM_URL` with `STREAM_API_KEY`.',
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
    'Maximum concurrent requests to the Streaming API (streams of clients); above it clients get 503. With `PASSTHROUGH_SHARED_KEY` each stream uses one of the parallel connections in your plan.',
  ),
  maxStreamsPerClient: setting(
    integer(1, 100_000).prefault(8),
    'Maximum concurrent requests of one client address to the Streaming API; above it the client gets 429.',
  ),
});

const memory = group({
  maxSize: setting(
    size('1MiB', '1024GiB').prefault('256MiB'),
    'Maximum size of the memory tier, including overhead; above it the least recently used entries are evicted.',
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
    'Which requests for the operations are logged: `failed` logs those that get a 5xx, or a 429 other than `too-many-requests` (at most 10 a second), `slow` also those that take a second or more, `all` every one. `all` turns `http.fastLane` off.',
    { env: 'LOG_REQUESTS' },
  ),
  logRequestsSample: setting(
    share.prefault(1),
    'Share of the requests selected by `LOG_REQUESTS` that is logged, 0 to 1. Failed requests are always logged.',
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
