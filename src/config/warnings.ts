import { isDeepStrictEqual } from 'node:util';
import { placeOf } from '../indexer/credentials.ts';
import { isLoopback } from './loopback.ts';
import { nearestTo } from './nearest-name.ts';
import { PASS_THROUGH } from './operations-setting.ts';
import { warningsOfPaths } from './passed-paths.ts';
import { type Settings, settingsSchema } from './schema.ts';
import { type Environment, type Sourced, valueAt } from './setting-source.ts';

/** Names shorter than this are too often similar to those of other programs: HOME is near to HOST. */
const SHORTEST_CHECKED = 8;

/**
 * Variables that Kubernetes adds for each Service, Docker for each link, and systemd for each unit. The first two begin
 * with the name that the operator gave the Service: `REDIS_PORT`, `UPSTREAM_INDEXER_SERVICE_HOST`.
 */
const OF_THE_PLATFORM =
  /_(?:PORT|PORT_.*|SERVICE_.*|NAME|ENV_.*)$|^(?:CACHE_DIRECTORY|MEMORY_PRESSURE_(?:WATCH|WRITE))$/;

/** These variables make other programs send their requests through a proxy. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);

/** The end of an indexer's address to which `/api/v3` should probably not be added. */
const END_OF_API = /\/(?:api|v(?!3$)[0-9]+|api\/v[0-9]+\/[a-z]+)$/i;

const ENDS_IN_API =
  'the address of an indexer ends like the path of an API, and /api/v3 is added to it: is this intended?';

/** Settings without effect unless another one is set: their names, what they need, and whether that is set. */
const NEEDS: readonly (readonly [names: RegExp, need: string, isMet: (settings: Settings) => boolean])[] = [
  [/^redis\./, 'REDIS_URL', ({ redis }) => redis.url !== undefined],
  [/^stream\.apiKey$/, 'STREAM_URL', ({ stream }) => stream.url !== undefined],
  [/^upstream\.backup\./, 'UPSTREAM_BACKUP_URL', ({ upstream }) => upstream.backup.url !== undefined],
  [/^upstream\.maxLag$/, 'a second indexer in UPSTREAM_URL', ({ upstream }) => upstream.url.length > 1],
  [/^passThrough\.|^stream\.url$/, 'PASSTHROUGH=on', ({ passThrough }) => passThrough.enabled !== false],
  [
    /^passThrough\.sharedKey$/,
    'UPSTREAM_API_KEY',
    ({ upstream, stream }) => [upstream, upstream.backup, stream].some((each) => hasKey(each) || hasLogin(each)),
  ],
  [/^logRequestsSample$/, 'LOG_REQUESTS=slow or all', ({ logRequests }) => /slow|all/.test(logRequests)],
];

const MIB = 1024 * 1024;

/**
 * The memory of a process in addition to the memory tier, as measured (docs/background/benchmarks.md): with V8's own
 * limits, with those of a sidecar (`--max-old-space-size=128 --max-semi-space-size=8`), and as a share of a large tier.
 */
const [BESIDE_TIER, BESIDE_SIDECAR, BESIDE_LARGE] = [450 * MIB, 320 * MIB, 0.4];

/** V8's limit of the heap of a sidecar: the old generation, and three semi-spaces. */
const HEAP_OF_SIDECAR = (128 + 3 * 8) * MIB;

/**
 * The problem of `MEMORY_MAX_SIZE` in a container with this limit (`undefined`: no limit), if there is one. `heapBytes`:
 * V8's limit of the heap.
 */
export function memoryWarning({ memory }: Settings, limitBytes: number | undefined, heapBytes: number): string[] {
  const beside = Math.max(BESIDE_LARGE * memory.maxSize, heapBytes <= HEAP_OF_SIDECAR ? BESIDE_SIDECAR : BESIDE_TIER);
  if (limitBytes === undefined || memory.maxSize <= limitBytes - beside) return [];
  const [size, limit, needed] = [memory.maxSize, limitBytes, memory.maxSize + beside].map(
    (bytes) => `${Math.ceil(bytes / MIB)} MiB`,
  );
  return [
    `MEMORY_MAX_SIZE is ${size} and the memory limit of the container ${limit}: give it ${needed}, or misses are refused before the tier is full`,
  ];
}

interface Loaded {
  readonly settings: Settings;
  readonly sources: readonly Sourced[];
}

/** Notes for the operator about valid settings. `known`: every variable that is read. */
export function warningsOf(loaded: Loaded, environment: Environment, known: readonly string[]): string[] {
  const { redis, http, upstream, admission, passThrough, clients, operations } = loaded.settings;
  const isByDefault = (name: string) => loaded.sources.some((each) => each.name === name && each.from === 'default');
  const backups = upstream.backup.url ?? [];
  const ofOurs = [hasKey(upstream) && 'UPSTREAM_API_KEY', hasLogin(upstream) && 'the login in UPSTREAM_URL'].filter(
    (each) => each !== false,
  );
  const found: [isSo: boolean, warning: string][] = [
    [
      isByDefault('network') && redis.url !== undefined,
      'NETWORK is not set and "mainnet" is assumed: instances of another chain must not share keys with it',
    ],
    [
      http.adminToken === undefined && !isLoopback(http.adminHost),
      'ADMIN_TOKEN is not set and the admin port is not on loopback: purges and explanations are refused',
    ],
    [
      passThrough.enabled !== false && ofOurs.length > 0 && isByDefault('passThrough.sharedKey'),
      `PASSTHROUGH is on and PASSTHROUGH_SHARED_KEY is not set: passed-through requests use only keys of clients, never ${ofOurs.join(' or ')} (set it to on or off)`,
    ],
    [
      operations?.includes(PASS_THROUGH) === true && passThrough.enabled === false,
      `CACHE_OPERATIONS names ${PASS_THROUGH}, which has no effect without PASSTHROUGH=on`,
    ],
    [
      clients.trustedProxies?.some((network) => network.endsWith('/0')) === true,
      'TRUSTED_PROXIES names all addresses: every client can forge its address in X-Forwarded-For',
    ],
    [
      backups.some((url) => upstream.url.map(placeOf).includes(url)) && !hasKey(upstream.backup),
      'UPSTREAM_BACKUP_URL names an indexer of UPSTREAM_URL: it fails when that fails, and gets twice UPSTREAM_MAX_CONCURRENCY',
    ],
    [
      upstream.defaultPause > upstream.maxPause,
      'upstream.defaultPause is longer than upstream.maxPause, to which it is cut',
    ],
    [
      admission.patience > upstream.timeout / 2 && !isByDefault('admission.patience'),
      'admission.patience is more than half of UPSTREAM_TIMEOUT, to which it is cut',
    ],
    [[...upstream.url, ...backups].some((url) => END_OF_API.test(url)), ENDS_IN_API],
  ];
  return [
    ...misspelt(environment, known),
    ...found.filter(([isSo]) => isSo).map(([, warning]) => warning),
    ...warningsOfPaths(passThrough.enabled),
    ...withoutEffect(loaded),
    ...PROXY_VARIABLES.filter((name) => environment[name]).map(
      (name) => `${name} is not used: toncache connects to indexers, the stream and Redis directly`,
    ),
  ];
}

function hasKey({ apiKey }: { readonly apiKey?: string | undefined }): boolean {
  return apiKey !== undefined;
}

function hasLogin({ url }: { readonly url?: string | readonly string[] | undefined }): boolean {
  return [url ?? []].flat().some((each) => each !== placeOf(each));
}

/** Changed settings without effect. A setting that is given its default value does not count. */
function withoutEffect({ settings, sources }: Loaded): string[] {
  const byDefault = settingsSchema.parse({ upstream: { url: 'http://indexer' } });
  const changed = sources.filter(({ name, from }) => {
    const path = name.split('.');
    return from !== 'default' && !isDeepStrictEqual(valueAt(settings, path), valueAt(byDefault, path));
  });
  return NEEDS.filter(([, , isMet]) => !isMet(settings)).flatMap(([names, need]) => {
    const idle = changed.filter(({ name }) => names.test(name));
    const said = idle.map(({ name, from, source }) => (from === 'environment' ? source : name));
    if (said.length === 0) return [];
    return `${said.join(', ')} ${said.length === 1 ? 'has' : 'have'} no effect without ${need}`;
  });
}

/**
 * Warns about unknown variables that are similar to a known one, in any case, or begin with the first word of one, like
 * `REDIS_`. Shows only their names.
 */
export function misspelt(environment: Environment, known: readonly string[]): string[] {
  const ours = new Set(known.flatMap((name) => /^[A-Z]+_/.exec(name)?.[0] ?? []));
  const unknown = Object.entries(environment).filter(([name]) => !known.includes(name));
  return unknown.flatMap(([name, value]) => {
    const upper = name.toUpperCase();
    const nearest = name.length >= SHORTEST_CHECKED ? nearestTo(upper, known) : undefined;
    if (nearest !== undefined) return `${name} is not a setting: did you mean ${nearest}?`;
    const isOurs = [...ours].some((prefix) => upper.startsWith(prefix)) && !OF_THE_PLATFORM.test(upper);
    return isOurs && value !== '' ? `${name} is not a setting, and is not read` : [];
  });
}
