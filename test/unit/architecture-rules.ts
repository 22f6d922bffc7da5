/** The parts that answer requests, from the ground up. */
const parts = [
  'errors.ts',
  'redis-url.ts',
  'clock.ts',
  'freshness.ts',
  'time-units.ts',
  'circuit-breaker.ts',
  'json-object.ts',
  'sliced-strings.ts',
  'version.ts',
  'loopback.ts',
  'reason-of.ts',
  'ending-signals.ts',
  'admission',
  'clients',
  'redis',
  'cache',
  'once',
  'ton',
  'indexer',
  'purge',
  'push',
  'answer',
  'http',
];

const typesOf = (part: string) => `${part} (types)`;

/** Who may import whom; everything may import from its own folder. `(types)`: by `import type` only. */
export const mayImport: Record<string, readonly string[]> = {
  'errors.ts': [],
  'redis-url.ts': [],
  'clock.ts': ['time-units.ts'],
  'freshness.ts': ['time-units.ts'],
  'time-units.ts': [],
  'circuit-breaker.ts': ['time-units.ts'],
  'json-object.ts': [],
  'sliced-strings.ts': [],
  'version.ts': [],
  'loopback.ts': [],
  'reason-of.ts': [],
  'ending-signals.ts': [],
  admission: ['circuit-breaker.ts', 'time-units.ts'],
  clients: ['errors.ts', 'time-units.ts'],
  redis: ['redis-url.ts', 'time-units.ts'],
  once: ['redis', 'cache', 'time-units.ts'],
  cache: ['redis', 'circuit-breaker.ts', 'freshness.ts', 'time-units.ts'],
  ton: ['errors.ts', 'freshness.ts', 'time-units.ts', 'json-object.ts'],
  indexer: ['errors.ts', 'version.ts', 'time-units.ts', 'ton'],
  purge: ['freshness.ts', 'reason-of.ts', 'time-units.ts'],
  push: ['version.ts', 'reason-of.ts', 'time-units.ts', 'cache (types)', 'ton'],
  answer: [
    ...['errors.ts', 'freshness.ts', 'time-units.ts', 'sliced-strings.ts', 'json-object.ts'],
    ...['admission', 'once', 'cache', 'ton', 'indexer'],
    'push (types)',
    'clients (types)',
  ],
  http: [
    ...['errors.ts', 'time-units.ts', 'sliced-strings.ts', 'loopback.ts', 'answer', 'cache', 'ton'],
    ...['admission', 'clients', 'purge', 'indexer'].map(typesOf),
  ],
  // What is refused as a setting and what is connected to must be read by one parser.
  config: ['redis-url.ts', 'loopback.ts', 'json-object.ts'],
  operate: [
    'answer',
    'http',
    'errors.ts',
    'version.ts',
    'reason-of.ts',
    'ton',
    ...[
      ...parts.filter((part) => !['answer', 'http', 'ton', 'errors.ts', 'version.ts', 'reason-of.ts'].includes(part)),
      'event-hub.ts',
    ].map(typesOf),
  ],
  'event-hub.ts': ['answer (types)', 'cache (types)', 'purge (types)', 'redis (types)', 'push (types)'],
  'app-context.ts': ['time-units.ts', 'config (types)', 'event-hub.ts (types)'],
  'open-redis.ts': [...parts, 'app-context.ts'],
  'open-indexer.ts': [...parts, 'app-context.ts'],
  'open-indexers.ts': [...parts, 'app-context.ts', 'open-indexer.ts'],
  'open-push.ts': [...parts, 'app-context.ts'],
  'open-proxy.ts': [...parts, 'app-context.ts', 'open-redis.ts', 'open-indexers.ts', 'open-push.ts'],
  'app.ts': [
    ...parts,
    'event-hub.ts',
    'app-context.ts',
    'open-redis.ts',
    'open-indexers.ts',
    'open-push.ts',
    'open-proxy.ts',
    'config',
    'operate',
  ],
  'healthcheck.ts': ['config'],
  'main.ts': ['errors.ts', 'version.ts', 'ending-signals.ts', 'app.ts', 'config', 'operate'],
  cli: [...parts, 'config', 'operate', 'main.ts', 'require-node-24.cjs', 'tools'],
  tools: [...parts, 'config', 'operate', 'app.ts'],
};

/** Where a package may be imported, its types included. Packages that are not here may be imported anywhere. */
export const packagePlaces: Record<string, readonly string[]> = {
  ioredis: ['redis/'],
  undici: ['indexer/', 'push/socket.ts', 'cli/admin-client.ts', 'tools/verify/asker.ts', 'healthcheck.ts'],
  zod: ['config/', 'ton/', 'answer/shared-failure.ts', 'cache/entry-codec.ts'],
  'prom-client': ['operate/'],
  pino: ['operate/', 'app.ts'],
  // Bounded memos add their file here.
  'lru-cache': ['cache/memory-tier.ts', 'ton/call-memo.ts', 'clients/client-limits.ts'],
};

/** `process-guard` reads the options of Node itself, which are no settings. */
export const environmentPlaces = ['main.ts', 'healthcheck.ts', 'cli/main.ts', 'admission/process-guard.ts'];
