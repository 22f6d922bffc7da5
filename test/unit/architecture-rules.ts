/** The parts that answer requests, from the ground up. */
const parts = [
  'failures',
  'errors.ts',
  'outcomes.ts',
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
  'names',
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
export const MAY_IMPORT: Record<string, readonly string[]> = {
  failures: ['time-units.ts'],
  'errors.ts': ['failures', 'time-units.ts'],
  'outcomes.ts': ['errors.ts (types)', 'circuit-breaker.ts (types)'],
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
  admission: ['circuit-breaker.ts', 'outcomes.ts', 'failures (types)', 'time-units.ts'],
  clients: ['errors.ts', 'failures', 'time-units.ts'],
  names: ['time-units.ts'],
  redis: ['redis-url.ts', 'circuit-breaker.ts', 'time-units.ts', 'names (types)'],
  once: ['redis', 'cache', 'time-units.ts'],
  cache: ['redis', 'freshness.ts', 'time-units.ts'],
  ton: ['errors.ts', 'failures', 'freshness.ts', 'time-units.ts', 'json-object.ts'],
  indexer: ['errors.ts', 'outcomes.ts', 'version.ts', 'time-units.ts', 'names', 'ton', 'json-object.ts'],
  purge: ['freshness.ts', 'reason-of.ts', 'time-units.ts', 'ton (types)'],
  push: ['version.ts', 'reason-of.ts', 'time-units.ts', 'cache (types)', 'ton'],
  answer: [
    ...['errors.ts', 'outcomes.ts', 'freshness.ts', 'time-units.ts', 'sliced-strings.ts', 'json-object.ts'],
    'failures (types)',
    ...['admission', 'once', 'cache', 'ton', 'indexer'],
    'push (types)',
    'clients (types)',
  ],
  http: [
    ...['errors.ts', 'failures', 'outcomes.ts', 'time-units.ts', 'sliced-strings.ts', 'loopback.ts'],
    ...['answer', 'cache', 'ton'],
    ...['admission', 'clients', 'purge', 'indexer'].map(typesOf),
  ],
  // What is refused as a setting and what is connected to must be read by one parser.
  config: ['redis-url.ts', 'loopback.ts', 'json-object.ts', 'ton'],
  operate: [
    ...['answer', 'http', 'ton', 'errors.ts', 'failures', 'outcomes.ts', 'version.ts', 'reason-of.ts'],
    ...[...parts, 'event-hub.ts'].map(typesOf),
  ],
  'event-hub.ts': ['answer (types)', 'cache (types)', 'purge (types)', 'redis (types)', 'push (types)'],
  compose: [...parts, ...['config', 'event-hub.ts'].map(typesOf)],
  'app.ts': [...parts, 'event-hub.ts', 'compose', 'config', 'operate'],
  'healthcheck.ts': ['config'],
  cli: [...parts, 'config', 'operate', 'app.ts', 'require-node-24.cjs', 'tools'],
  tools: [...parts, 'config', 'operate', 'app.ts'],
};

/** Where a package may be imported, its types included. Packages that are not here may be imported anywhere. */
export const PACKAGE_PLACES: Record<string, readonly string[]> = {
  ioredis: ['redis'],
  undici: ['indexer', 'names/connector.ts', 'push/socket.ts', 'cli', 'tools/verify/asker.ts', 'healthcheck.ts'],
  zod: ['config', 'ton', 'answer/shared-failure.ts', 'cache/entry-codec.ts'],
  'prom-client': ['operate'],
  pino: ['operate', 'app.ts'],
  // Bounded memos add their file here.
  'lru-cache': ['cache/memory-tier.ts', 'cache/went-back.ts', 'ton/call-memo.ts', 'clients/per-client-limit.ts'],
};
