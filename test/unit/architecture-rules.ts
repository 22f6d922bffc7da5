/** The parts that answer requests, from the ground up. */
const parts = [
  'errors.ts',
  'redis-url.ts',
  'clock.ts',
  'instants.ts',
  'time-units.ts',
  'json-object.ts',
  'content-codings.ts',
  'sliced-strings.ts',
  'admission',
  'redis',
  'cache',
  'coalescing',
  'ton',
  'upstream',
  'purge',
  'push',
  'proxy',
  'http',
];

const typesOf = (part: string) => `${part} (types)`;

/** Who may import whom; everything may import from its own folder. `(types)`: by `import type` only. */
export const mayImport: Record<string, readonly string[]> = {
  'errors.ts': [],
  'redis-url.ts': [],
  'clock.ts': ['time-units.ts'],
  'instants.ts': [],
  'time-units.ts': [],
  'json-object.ts': [],
  'content-codings.ts': [],
  'sliced-strings.ts': [],
  admission: [],
  redis: ['redis-url.ts'],
  coalescing: ['redis', 'cache'],
  cache: ['redis', 'instants.ts', 'content-codings.ts'],
  ton: ['errors.ts', 'instants.ts', 'json-object.ts'],
  upstream: ['errors.ts', 'ton'],
  purge: ['instants.ts', 'time-units.ts'],
  push: ['cache (types)', 'ton'],
  proxy: [
    ...['errors.ts', 'instants.ts', 'content-codings.ts', 'sliced-strings.ts', 'json-object.ts'],
    ...['admission', 'coalescing', 'cache', 'ton', 'upstream'],
    'push (types)',
  ],
  http: [
    ...['errors.ts', 'content-codings.ts', 'sliced-strings.ts', 'proxy', 'ton'],
    ...['admission', 'cache', 'purge', 'upstream'].map(typesOf),
  ],
  // What is refused as a setting and what is connected to must be read by one parser.
  config: ['redis-url.ts'],
  telemetry: [...parts, 'event-hub.ts'].map(typesOf),
  status: ['http', 'ton', 'telemetry', ...['proxy', 'cache'].map(typesOf)],
  'event-hub.ts': ['proxy (types)', 'cache (types)', 'purge (types)', 'redis (types)', 'push (types)'],
  'app-context.ts': ['time-units.ts', 'config (types)', 'event-hub.ts (types)'],
  'open-redis.ts': [...parts, 'app-context.ts'],
  'open-indexer.ts': [...parts, 'app-context.ts'],
  'open-push.ts': [...parts, 'app-context.ts'],
  'open-proxy.ts': [...parts, 'app-context.ts', 'open-redis.ts', 'open-indexer.ts', 'open-push.ts'],
  'app.ts': [
    ...parts,
    'event-hub.ts',
    'app-context.ts',
    'open-redis.ts',
    'open-indexer.ts',
    'open-push.ts',
    'open-proxy.ts',
    'config',
    'telemetry',
    'status',
  ],
  'healthcheck.ts': ['config'],
  'main.ts': ['errors.ts', 'app.ts', 'config', 'telemetry'],
  simulator: [],
  demo: [...parts, 'config', 'telemetry', 'app.ts', 'simulator'],
  cli: [...parts, 'config', 'telemetry', 'status', 'main.ts', 'require-node-24.cjs', 'verify', 'demo'],
  // An encoder of spellings that shares nothing with the parser it is held against.
  verify: [...parts, 'config', 'telemetry', 'app.ts', 'simulator', 'demo'],
};

/** Where a package may be imported, its types included. Packages that are not here may be imported anywhere. */
export const packagePlaces: Record<string, readonly string[]> = {
  ioredis: ['redis/'],
  undici: ['upstream/', 'push/socket.ts'],
  zod: ['config/', 'ton/'],
  'prom-client': ['telemetry/'],
  pino: ['telemetry/', 'app.ts'],
  // Bounded memos add their file here.
  'lru-cache': [...['cache/memory-tier.ts', 'ton/call-memo.ts'], 'http/public/accept-encoding.ts'],
};

/** `process-guard` reads the options of Node itself, which are no settings. */
export const environmentPlaces = ['main.ts', 'healthcheck.ts', 'cli/main.ts', 'admission/process-guard.ts'];
