import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { memoryWarning } from '../../../src/config/warnings.ts';
import { load, REQUIRED } from './configured.ts';

type Environment = Readonly<Record<string, string>>;

const KEY = { ...REQUIRED, UPSTREAM_API_KEY: 'a-key' };
const PASSED = { ...KEY, PASSTHROUGH: 'on' };
const SHARED_KEY_IS_UNSET = /PASSTHROUGH_SHARED_KEY is not set: .* never UPSTREAM_API_KEY/;
const BACKUP = { UPSTREAM_BACKUP_URL: 'http://backup' };

const warningsOf = (environment: Environment, file?: object) => load({ ...REQUIRED, ...environment }, file).warnings;

describe('a warning about a setting without effect', () => {
  test.each<[string, Environment, object | undefined]>([
    ['redis.budget has no effect without REDIS_URL', {}, { redis: { budget: '9ms' } }],
    ['STREAM_API_KEY has no effect without STREAM_URL', { STREAM_API_KEY: 'k' }, undefined],
    ['STREAM_URL has no effect without PASSTHROUGH=on', { STREAM_URL: 'ws://s' }, undefined],
    [
      'UPSTREAM_BACKUP_API_KEY, UPSTREAM_BACKUP_RPS have no effect without UPSTREAM_BACKUP_URL',
      { UPSTREAM_BACKUP_API_KEY: 'k', UPSTREAM_BACKUP_RPS: '5' },
      undefined,
    ],
    ['upstream.maxLag has no effect without a second indexer in UPSTREAM_URL', BACKUP, { upstream: { maxLag: 5 } }],
    ['passThrough.maxStreams has no effect without PASSTHROUGH=on', {}, { passThrough: { maxStreams: 5 } }],
    [
      'PASSTHROUGH_SHARED_KEY has no effect without PASSTHROUGH=on',
      { ...KEY, PASSTHROUGH_SHARED_KEY: 'on' },
      undefined,
    ],
    [
      'PASSTHROUGH_SHARED_KEY has no effect without UPSTREAM_API_KEY',
      { PASSTHROUGH: 'on', PASSTHROUGH_SHARED_KEY: 'on' },
      undefined,
    ],
    [
      'CACHE_OPERATIONS names passthrough, which has no effect without PASSTHROUGH=on',
      { CACHE_OPERATIONS: 'passthrough' },
      undefined,
    ],
    ['LOG_REQUESTS_SAMPLE has no effect without LOG_REQUESTS=slow or all', { LOG_REQUESTS_SAMPLE: '0.1' }, undefined],
    [
      'LOG_REQUESTS_SAMPLE has no effect without LOG_REQUESTS=slow or all',
      { LOG_REQUESTS: 'failed', LOG_REQUESTS_SAMPLE: '0.1' },
      undefined,
    ],
  ])('names the setting that is needed: %s (%j, %j)', (warning, environment, file) => {
    expect(warningsOf(environment, file)).toEqual([warning]);
  });

  test.each<[string, Environment, object | undefined]>([
    ['Redis', { REDIS_URL: 'redis://r', NETWORK: 'mainnet' }, { redis: { budget: '9ms' } }],
    [
      'the settings of the stream with STREAM_URL and PASSTHROUGH=on',
      { PASSTHROUGH: 'on', STREAM_URL: 'ws://s', STREAM_API_KEY: 'k', PASSTHROUGH_SHARED_KEY: 'on' },
      undefined,
    ],
    ['the settings of the backup with UPSTREAM_BACKUP_URL', { ...BACKUP, UPSTREAM_BACKUP_RPS: '5' }, undefined],
    ['upstream.maxLag with several indexers', { UPSTREAM_URL: 'http://a,http://b' }, { upstream: { maxLag: 5 } }],
    ['LOG_REQUESTS_SAMPLE with LOG_REQUESTS', { LOG_REQUESTS: 'slow', LOG_REQUESTS_SAMPLE: '0.1' }, undefined],
    [
      'passthrough in CACHE_OPERATIONS with PASSTHROUGH=on',
      { PASSTHROUGH: 'on', CACHE_OPERATIONS: 'blocks,passthrough' },
      undefined,
    ],
    ['PASSTHROUGH_SHARED_KEY with a key and PASSTHROUGH=on', { ...PASSED, PASSTHROUGH_SHARED_KEY: 'on' }, undefined],
    [
      'explicit default values, in any spelling',
      {
        PASSTHROUGH: 'off',
        PASSTHROUGH_SHARED_KEY: 'off',
        PASSTHROUGH_PREFIXES: '/api/v3/',
        LOG_REQUESTS_SAMPLE: '1.0',
      },
      { redis: { budget: '0.05s' }, passThrough: { maxStreams: 64 } },
    ],
  ])('is not given for %s', (_, environment, file) => {
    expect(warningsOf(environment, file)).toEqual([]);
  });
});

describe('a warning about a probable mistake', () => {
  test.each<[string, Environment, RegExp]>([
    ['an API key that requests for the rest of the API do not get', PASSED, SHARED_KEY_IS_UNSET],
    [
      'a proxy variable, which is not used',
      { HTTPS_PROXY: 'http://proxy:3128' },
      /^HTTPS_PROXY is not used: .* directly$/,
    ],
    [
      'a proxy variable in lower case, which is not used',
      { http_proxy: 'http://proxy:3128' },
      /^http_proxy is not used/,
    ],
    ['an indexer URL that ends in /api', { UPSTREAM_URL: 'http://indexer/api' }, /\/api\/v3 is added to it/],
    [
      'an indexer URL that ends in /v2',
      { UPSTREAM_URL: 'http://a,https://b/toncenter/v2/' },
      /\/api\/v3 is added to it/,
    ],
    [
      'an indexer URL with the path of an operation',
      { UPSTREAM_URL: 'http://i/api/v3/masterchainInfo' },
      /\/api\/v3 is added to it/,
    ],
    [
      'a backup URL with the path of a method',
      { UPSTREAM_BACKUP_URL: 'http://b/api/v2/jsonRPC' },
      /\/api\/v3 is added to it/,
    ],
    [
      'a backup that UPSTREAM_URL names too',
      { UPSTREAM_BACKUP_URL: 'http://indexer:8081/api/v3' },
      /names an indexer of UPSTREAM_URL/,
    ],
    [
      'trusted proxies that include all addresses',
      { TRUSTED_PROXIES: '10.0.0.1, 0.0.0.0/0' },
      /^TRUSTED_PROXIES names all addresses/,
    ],
  ])('is given for %s', (_, environment, warning) => {
    expect(warningsOf(environment)).toEqual([expect.stringMatching(warning)]);
  });

  test('is given for a pause above its maximum, and for a patience of more than half the timeout', () => {
    const defaultPause = '2min';
    expect(warningsOf({}, { upstream: { defaultPause } })).toEqual([
      expect.stringMatching(/^upstream\.defaultPause is longer than/),
    ]);
    expect(warningsOf({}, { upstream: { defaultPause, maxPause: defaultPause } })).toEqual([]);
    const patience = { admission: { patience: '3s' } };
    expect(warningsOf({}, patience)).toEqual([expect.stringMatching(/^admission\.patience is more than half/)]);
    expect(warningsOf({ UPSTREAM_TIMEOUT: '6s' }, patience)).toEqual([]);
    expect(warningsOf({ UPSTREAM_TIMEOUT: '1s' })).toEqual([]);
  });

  test.each<[string, Environment]>([
    ['an explicit PASSTHROUGH_SHARED_KEY=off', { ...PASSED, PASSTHROUGH_SHARED_KEY: 'off' }],
    ['an empty proxy variable', { HTTP_PROXY: '' }],
    ['an indexer URL that ends in /v3', { UPSTREAM_URL: 'https://host/toncenter/v3' }],
    ['an indexer URL with a path in front of /api/v3', { UPSTREAM_URL: 'https://host/ton/mainnet/api/v3' }],
    ['an indexer URL with an API key as its path', { UPSTREAM_URL: 'https://host/0123456789abcdef' }],
    [
      'a backup that is the same indexer with another API key',
      { UPSTREAM_BACKUP_URL: 'http://indexer:8081', UPSTREAM_BACKUP_API_KEY: 'k' },
    ],
  ])('is not given for %s', (_, environment) => {
    expect(warningsOf(environment)).toEqual([]);
  });
});

const MIB = 1024 * 1024;

/** V8's limit of the heap on a machine of 24 GiB. */
const DEFAULT_HEAP = 4192 * MIB;

/** V8's limit of the heap with the options in a deployment file: the old generation, and three semi-spaces. */
function heapOf(file: string): number {
  const [, old] = /--max-old-space-size=(\d+)/.exec(file) ?? [];
  const [, young] = /--max-semi-space-size=(\d+)/.exec(file) ?? [];
  return old === undefined ? DEFAULT_HEAP : (Number(old) + 3 * Number(young)) * MIB;
}
const fileOf = (path: string) => readFileSync(new URL(`../../../config/${path}`, import.meta.url), 'utf8');

test.each<[string, number | undefined, string[]]>([
  ['256MiB', undefined, []],
  ['256MiB', 706 * MIB, []],
  [
    '256MiB',
    705 * MIB,
    [
      'MEMORY_MAX_SIZE is 256 MiB and the memory limit of the container 705 MiB: give it 706 MiB, or misses are refused before the tier is full',
    ],
  ],
  ['2850MiB', 3990 * MIB, []],
  ['2850MiB', 3989 * MIB, [expect.stringContaining('give it 3990 MiB')]],
  ['1GiB', 256 * MIB, [expect.stringContaining('is 1024 MiB and the memory limit of the container 256 MiB')]],
])('MEMORY_MAX_SIZE=%s is compared with the memory limit of the container, %s bytes', (size, limitBytes, warnings) => {
  const { settings } = load({ ...REQUIRED, MEMORY_MAX_SIZE: size });
  expect(memoryWarning(settings, limitBytes, DEFAULT_HEAP)).toEqual(warnings);
});

test.each([
  [152 * MIB, 384, []],
  [152 * MIB, 383, [expect.stringContaining('give it 384 MiB')]],
  [153 * MIB, 384, [expect.stringContaining('give it 514 MiB')]],
])(
  'with a heap of at most %s bytes, a container of %s MiB is compared with 64 MiB of entries',
  (heap, limit, warnings) => {
    const { settings } = load({ ...REQUIRED, MEMORY_MAX_SIZE: '64MiB' });
    expect(memoryWarning(settings, limit * MIB, heap)).toEqual(warnings);
  },
);

test.each([
  ['shared.json', 'deploy/compose.yaml', /450 MiB\.\n +mem_limit: (\d+)m/],
  ['shared.json', 'deploy/kubernetes/shared.yaml', /limits:\s+memory: (\d+)Mi/],
  ['sidecar.json', 'deploy/kubernetes/sidecar.yaml', /limits:\s+memory: (\d+)Mi/],
  ['deploy/toncenter.override.yaml', 'deploy/toncenter.override.yaml', /mem_limit: (\d+)m/],
  ['deploy/systemd/toncache@.service', 'deploy/systemd/toncache@.service', /MemoryMax=(\d+)M/],
])('the memory tier of %s fits into the container of %s', (tier, container, limit) => {
  const size = /(?:"maxSize": "|MEMORY_MAX_SIZE[:=] ?)(\w+)/.exec(fileOf(tier))?.[1] ?? '';
  const limitBytes = Number(limit.exec(fileOf(container))?.[1]) * MIB;
  expect(limitBytes).toBeGreaterThan(0);
  const heap = heapOf(fileOf(container));
  expect(memoryWarning(load({ ...REQUIRED, MEMORY_MAX_SIZE: size }).settings, limitBytes, heap)).toEqual([]);
});

test.each([
  ['sidecar', {}],
  ['shared', { REDIS_URL: 'redis://r', NETWORK: 'mainnet' }],
  ['public-provider', { UPSTREAM_API_KEY: 'k' }],
])('config/%s.json causes no warning in its intended use', (use, environment) => {
  expect(load({ ...REQUIRED, ...environment }, fileOf(`${use}.json`)).warnings).toEqual([]);
});
