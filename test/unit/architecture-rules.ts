/** The parts that answer requests, the lowest layer first. */
const parts = [
  'failures',
  'errors.ts',
  'outcomes.ts',
  'clock.ts',
  'freshness.ts',
  'time-units.ts',
  'circuit-breaker.ts',
  'in-map.ts',
  'json-object.ts',
  'sliced-strings.ts',
  'version.ts',
  'reason-of.ts',
  'shortage.ts',
  'names',
  'admission',
  'clients',
  'redis',
  'cache',
  'once',
  'ton',
  'indexer',
  'fleet',
  'purge',
  'answer',
  'http',
];

const typesOf = (part: string) => `${part} (types)`;

/**
 * The folders and files that each part may import; `folder/file.ts`: of a folder only this file. Each part may import
 * from its own folder. `(types)`: by `import type` only.
 */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  failures: ['time-units.ts'],
  'errors.ts': ['failures', 'time-units.ts'],
  'outcomes.ts': ['errors.ts (types)', 'circuit-breaker.ts (types)'],
  'clock.ts': ['time-units.ts'],
  'freshness.ts': ['time-units.ts'],
  'time-units.ts': [],
  'circuit-breaker.ts': ['time-units.ts'],
  'in-map.ts': [],
  'json-object.ts': [],
  'sliced-strings.ts': [],
  'version.ts': [],
  'reason-of.ts': [],
  'shortage.ts': [],
  admission: [
    ...['circuit-breaker.ts', 'in-map.ts', 'outcomes.ts', 'shortage.ts', 'time-units.ts'],
    'failures (types)',
  ],
  clients: ['errors.ts', 'failures', 'time-units.ts'],
  names: ['in-map.ts', 'shortage.ts', 'time-units.ts'],
  redis: ['circuit-breaker.ts', 'in-map.ts', 'reason-of.ts', 'time-units.ts', 'names (types)'],
  once: ['redis', 'cache', 'time-units.ts'],
  cache: ['redis', 'freshness.ts', 'time-units.ts'],
  ton: ['errors.ts', 'failures', 'freshness.ts', 'time-units.ts', 'json-object.ts'],
  indexer: ['errors.ts', 'json-object.ts', 'outcomes.ts', 'shortage.ts', 'version.ts', 'time-units.ts', 'names', 'ton'],
  fleet: [
    ...['circuit-breaker.ts', 'errors.ts (types)', 'in-map.ts', 'outcomes.ts', 'time-units.ts', 'ton'],
    ...['admission', 'indexer'],
  ],
  proof: [
    ...['errors.ts', 'freshness.ts (types)', 'json-object.ts', 'outcomes.ts', 'time-units.ts'],
    ...['clock.ts', 'admission', 'answer', 'cache', 'fleet', 'indexer', 'once', 'redis', 'ton'],
    'compose (types)',
  ],
  purge: ['freshness.ts', 'reason-of.ts', 'time-units.ts', 'ton (types)'],
  answer: [
    ...['errors.ts', 'outcomes.ts', 'freshness.ts', 'time-units.ts', 'sliced-strings.ts', 'json-object.ts'],
    'failures (types)',
    ...['admission', 'once', 'cache', 'ton', 'indexer', 'fleet'],
    'clients (types)',
  ],
  http: [
    ...[
      'errors.ts',
      'failures',
      'outcomes.ts',
      'time-units.ts',
      'sliced-strings.ts',
      'clients/naming-headers.ts',
      'config/loopback.ts',
      'admission/send-rules.ts',
    ],
    ...['answer', 'cache', 'once', 'fleet', 'ton'],
    ...['admission', 'clients', 'purge', 'indexer'].map(typesOf),
  ],
  // The check of a setting and the connection use the same parser, so that they agree about valid values.
  config: ['redis/redis-url.ts', 'indexer/credentials.ts', 'json-object.ts', 'ton'],
  tell: [
    ...['answer', 'errors.ts', 'failures', 'in-map.ts', 'outcomes.ts', 'reason-of.ts', 'time-units.ts', 'ton'],
    ...[...parts, 'event-hub.ts'].map(typesOf),
  ],
  operate: [
    'tell',
    ...['answer', 'http', 'ton', 'errors.ts', 'failures', 'outcomes.ts', 'version.ts', 'reason-of.ts', 'shortage.ts'],
    'time-units.ts',
    ...[...parts, 'event-hub.ts'].map(typesOf),
  ],
  'event-hub.ts': ['admission', 'answer', 'cache', 'http', 'indexer', 'purge', 'redis'].map(typesOf),
  compose: [...parts, 'config', 'event-hub.ts', 'operate', 'tell'],
  // Nothing else imports `proof`, so that it can be left out.
  'app.ts': [...parts, 'proof', 'event-hub.ts', 'compose', 'config', 'operate', 'tell'],
  cli: [...parts, 'config', 'operate', 'app.ts', 'require-node-24.cjs', 'tools', 'tell'],
  tools: [...parts, 'config', 'operate', 'app.ts'],
};

/**
 * Ceilings of the size of the product. docs/background/faults.md names the faults that are worth raising one. Lines are
 * those of TypeScript in `src`, without `src/tools`.
 */
export const CEILINGS = { lines: 30_863, settings: 65, metrics: 51, events: 39 };

/**
 * The places where a package may be imported, its types included. Packages that are not listed may be imported
 * anywhere.
 */
export const PACKAGE_PLACES: Record<string, readonly string[]> = {
  ioredis: ['redis'],
  undici: ['indexer', 'names/connector.ts', 'cli', 'tools/verify/asker.ts'],
  zod: ['config', 'ton', 'cache/entry-codec.ts'],
  'prom-client': ['operate'],
  marked: ['operate'],
  pino: ['operate', 'tell', 'compose/telling.ts', 'app.ts'],
  // A new file with a bounded memo must be added here.
  'lru-cache': [
    'cache/memory-tier.ts',
    'cache/older-answers.ts',
    'http/pass-through/joined-requests.ts',
    'ton/call-memo.ts',
    'clients/per-client-limit.ts',
    'proof/proof-demand.ts',
    'proof/quiet.ts',
  ],
};
