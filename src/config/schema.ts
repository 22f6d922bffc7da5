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
    'Comma-separated addresses and networks of proxies in front of toncache, such as `10.0.0.0/8`. In requests from these proxies, the `X-Forwarded-For` header identifies the client. In all other requests, the address of the connection identifies the client.',
    { env: 'TRUSTED_PROXIES' },
  ),
  requestsPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum number of requests a second from one client, including hits. Ten times as many are allowed at once. Further requests get 429. If not set, there is no limit.',
  ),
  missesPerSecond: setting(
    integer(1, 1_000_000).optional(),
    'Maximum number of misses a second from one client. Ten times as many are allowed at once. Further misses get 429, or a stale response. Hits in memory do not count. If not set, there is no limit.',
  ),
  showAddresses: setting(
    flag.prefault(false),
    'If on, the log and the status page show the full addresses of clients instead of their networks.',
  ),
});

/** The group `proof`: answers about accounts that blocks prove. */
const proof = group({
  methods: setting(
    methodNames.prefault('get_wallet_address,get_wallet_data,get_jetton_data,get_nft_data'),
    'Comma-separated get-methods whose results a quiet account proves, or `off` for none. List only methods that read nothing except the state of their contract ([more](../start/your-clients.md#get-methods)).',
    { env: 'PROVEN_METHODS' },
  ),
  maxAge: setting(
    duration('0s', '10min').prefault('5min'),
    'Longest time for which blocks can prove a response. The time is limited because names and metadata in the response can change without a block. Responses with interfaces or `mintless_info`, and results of get-methods, are proven for at most 60 s. At 0, nothing is proven.',
    { env: 'PROOF_MAX_AGE' },
  ),
});

/** The group `stream`: the Streaming API v2, for streams of clients. */
const stream = group({
  url: setting(
    streamUrl.optional(),
    'The URL of the Streaming API v2 for streams of clients, `ws://` or `wss://`. If it has no path, toncache adds `/api/streaming/v2/ws`. If not set, toncache uses the first indexer.',
    { env: 'STREAM_URL' },
  ),
  apiKey: setting(
    apiKey.optional(),
    'API key that is sent to `STREAM_URL` as `X-API-Key` for clients without a key; see `PASSTHROUGH_SHARED_KEY`.',
    {
      env: 'STREAM_API_KEY',
      envOnly: true,
    },
  ),
});

const admission = group({
  patience: setting(
    duration('1ms', '5min').prefault('1.5s'),
    'Longest wait of a request for a slot at the indexer and for `UPSTREAM_RPS`, but at most half of `UPSTREAM_TIMEOUT`. toncache immediately refuses a request whose expected wait is longer.',
  ),
  maxMemoryShare: setting(
    share.refine((part) => part > 0, { error: 'must be more than 0: at 0 every miss is refused' }).prefault(0.9),
    "Maximum share of the container's memory limit (RSS) and of V8's usable old generation. Above it, toncache refuses misses, but still serves hits.",
  ),
});

const passThrough = group({
  enabled: setting(
    passedPaths.prefault(false),
    'If on, toncache passes through requests that it does not cache: those below `passThrough.prefixes`, and those for the Streaming API below `/api/streaming/`. If set to a comma-separated list of paths below `/api/v3/`, such as `message,jetton/wallets`, toncache passes through only these paths. In the list, `streaming` means the Streaming API.',
    {
      env: 'PASSTHROUGH',
    },
  ),
  sharedKey: setting(
    flag.prefault(false),
    'If on, toncache adds `UPSTREAM_API_KEY` and the login in `UPSTREAM_URL` to passed-through requests without a key, and `STREAM_API_KEY` to streams to the host of `STREAM_URL`.',
    { env: 'PASSTHROUGH_SHARED_KEY' },
  ),
  prefixes: setting(
    pathPrefixes.prefault('/api/v3/'),
    'Comma-separated prefixes of the paths that are passed through: `/api/v3/,/api/v2/,/api/emulate/`, or `/api/` for all. Operations that are always cached are not passed through.',
    { env: 'PASSTHROUGH_PREFIXES' },
  ),
  maxBodySize: setting(
    size('1KiB', '64MiB').prefault('1MiB'),
    'Maximum size of the body of a passed-through request. Clients get 413 for a larger body.',
  ),
  maxConcurrency: setting(
    integer(1, 10_000).prefault(32),
    'Maximum number of concurrent passed-through requests from one instance to each indexer, in addition to `upstream.maxConcurrency`. Further requests wait.',
  ),
  maxStreams: setting(
    integer(1, 100_000).prefault(64),
    'Maximum number of concurrent requests to the Streaming API (streams of clients). For further requests, clients get 503. With `PASSTHROUGH_SHARED_KEY`, each stream counts as one of the parallel connections in your plan.',
  ),
  maxStreamsPerClient: setting(
    integer(1, 100_000).prefault(8),
    'Maximum number of concurrent requests from one client address to the Streaming API. For further requests, the client gets 429.',
  ),
});

const memory = group({
  maxSize: setting(
    size('1MiB', '1024GiB').prefault('256MiB'),
    'Maximum size of the memory tier, including overhead. Above it, toncache evicts the least recently used entries.',
    { env: 'MEMORY_MAX_SIZE' },
  ),
});

const compression = group({
  enabled: setting(flag.prefault(true), 'If on, toncache may send responses as gzip to clients that accept it.', {
    env: 'COMPRESSION',
  }),
});

const all = z.strictObject({
  $schema: setting(z.string().optional(), 'For editors.'),
  network: setting(
    word.prefault('mainnet'),
    'The TON network, such as `mainnet` or `testnet`. Its name is part of every cache key. An indexer that follows another network gets only head polls.',
    {
      env: 'NETWORK',
    },
  ),
  logLevel: setting(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).prefault('info'),
    'The lowest level of the lines that are logged.',
    { env: 'LOG_LEVEL' },
  ),
  logRequests: setting(
    z.enum(['off', 'failed', 'slow', 'all']).prefault('off'),
    'Which requests for cached operations are logged. `failed`: requests that get a 5xx, or a 429 other than `too-many-requests` (at most 10 a second). `slow`: also requests that take a second or more. `all`: all requests; `http.fastLane` is then off.',
    { env: 'LOG_REQUESTS' },
  ),
  logRequestsSample: setting(
    share.prefault(1),
    'The share (0 to 1) of the requests selected by `LOG_REQUESTS` that toncache logs. It does not apply to failed requests.',
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
