import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OPERATION_NAMES } from '../../../src/ton/operation-names.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

const BAD_ENVIRONMENT = {
  UPSTREAM_URL: 'indexer:8081',
  UPSTREAM_API_KEY: 'two words',
  UPSTREAM_TIMEOUT: '5',
  UPSTREAM_MAX_CONCURRENCY: '0',
  NETWORK: 'Main Net',
  REDIS_URL: 'http://redis',
  MEMORY_MAX_SIZE: '256MB',
  HOST: 'no host',
  ADMIN_HOST: '/',
  PORT: '65536',
  ADMIN_PORT: '-1',
  LOG_LEVEL: 'loud',
};

describe('settings from the environment and the file', () => {
  test('are taken from the environment, else from the file, else from the defaults', () => {
    const file = { network: 'testnet', http: { port: 1 }, upstream: { url: 'http://file', timeout: '2s' } };
    const { settings } = load({ NETWORK: 'sandbox', UPSTREAM_URL: 'http://environment' }, file);
    expect(settings.network).toBe('sandbox');
    expect(settings.http.port).toBe(1);
    expect(settings.http.adminPort).toBe(9464);
    expect(settings.upstream).toMatchObject({ url: ['http://environment'], timeout: 2000, maxConcurrency: 64 });
  });

  test('count as not set if the variable is empty', () => {
    const empty = Object.fromEntries(Object.keys(BAD_ENVIRONMENT).map((name) => [name, '']));
    expect(load({ ...empty, ...REQUIRED, CONFIG_FILE: '' })).toEqual(load(REQUIRED));
  });

  test('do not include unknown variables', () => {
    expect(load({ ...REQUIRED, NODE_ENV: 'production', upstream: 'x', ['__proto__']: 'y' })).toEqual(load(REQUIRED));
  });

  test('are read from a file with a byte order mark', () => {
    const text = '\ufeff{"http": {"port": 8081}}';
    expect(load(REQUIRED, text).settings.http.port).toBe(8081);
  });

  test.each(['\n', '\r\n', '\n\n'])('are the same when every variable ends in %j', (end) => {
    const plain = {
      ...REQUIRED,
      ...{ REDIS_URL: 'redis://:secret@127.0.0.1:6379', NETWORK: 'testnet', UPSTREAM_API_KEY: 'key', PORT: '8081' },
      ...{
        ADMIN_TOKEN: 'token',
        HOST: '0.0.0.0',
        MEMORY_MAX_SIZE: '1GiB',
        TRUSTED_PROXIES: '10.0.0.0/8',
        LOG_LEVEL: '',
      },
    };
    const ended = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, value + end]));
    expect(load(ended)).toEqual(load(plain));
  });

  const REDIS = { ...REQUIRED, REDIS_URL: 'redis://127.0.0.1' };
  test.each<[string, Record<string, string>, object | undefined, RegExp | undefined]>([
    ['Redis without NETWORK', REDIS, undefined, /^NETWORK is not set/],
    ['Redis with an empty NETWORK', { ...REDIS, NETWORK: '' }, undefined, /^NETWORK is not set/],
    ['NETWORK', { ...REDIS, NETWORK: 'mainnet' }, undefined, undefined],
    ['Redis with a network in the file', REDIS, { network: 'mainnet' }, undefined],
    ['no Redis', REQUIRED, undefined, undefined],
    [
      'an open admin port without ADMIN_TOKEN',
      { ...REQUIRED, ADMIN_HOST: '0.0.0.0' },
      undefined,
      /^ADMIN_TOKEN is not set/,
    ],
    [
      'an open admin port with ADMIN_TOKEN',
      { ...REQUIRED, ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: 'a-secret-of-24-letters-x' },
      undefined,
      undefined,
    ],
    [
      'a variable with a missing letter',
      { ...REQUIRED, UPSTREAM_MAX_CONCURENCY: '7' },
      undefined,
      /did you mean UPSTREAM_MAX_CONCURRENCY/,
    ],
    [
      'a variable with an extra letter',
      { ...REQUIRED, CONFIG_FILES: 'x' },
      undefined,
      /^CONFIG_FILES is not a setting: did you mean CONFIG_FILE/,
    ],
    [
      'a variable in lower case',
      { ...REQUIRED, redis_url: 'redis://r' },
      undefined,
      /^redis_url is not a setting: did you mean REDIS_URL\?$/,
    ],
    ...['REDIS_PASSWORD', 'UPSTREAM_ADDRESS', 'MEMORY_LIMIT', 'CONFIG_PATH', 'ADMIN_SECRET'].map(
      (name): [string, Record<string, string>, undefined, RegExp] => [
        `an unknown variable that begins like a setting, ${name}, without its value`,
        { ...REQUIRED, [name]: 'hunter2' },
        undefined,
        new RegExp(`^${name} is not a setting, and is not read$`),
      ],
    ),
    ['an unknown variable without a value', { ...REQUIRED, REDIS_PASSWORD: '' }, undefined, undefined],
    ...['REDIS', 'UPSTREAM_INDEXER', 'MEMORY', 'STREAM_V2', 'CACHE', 'LOG', 'ALLOWED_1'].map(
      (name): [string, Record<string, string>, undefined, undefined] => [
        `variables that Kubernetes and Docker add for ${name}`,
        {
          ...REQUIRED,
          [`${name}_PORT`]: 'tcp://10.0.0.1:6379',
          [`${name}_PORT_6379_TCP`]: 'tcp://10.0.0.1:6379',
          [`${name}_PORT_6379_TCP_ADDR`]: '10.0.0.1',
          [`${name}_PORT_6379_TCP_PORT`]: '6379',
          [`${name}_PORT_6379_TCP_PROTO`]: 'tcp',
          [`${name}_SERVICE_HOST`]: '10.0.0.1',
          [`${name}_SERVICE_PORT`]: '6379',
          [`${name}_SERVICE_PORT_HTTP`]: '6379',
          [`${name}_NAME`]: '/web/redis',
          [`${name}_ENV_VERSION`]: '7',
        },
        undefined,
        undefined,
      ],
    ),
    [
      'variables that systemd adds',
      { ...REQUIRED, MEMORY_PRESSURE_WATCH: '/x', MEMORY_PRESSURE_WRITE: 'x', CACHE_DIRECTORY: '/x' },
      undefined,
      undefined,
    ],
    [
      'variables of other programs',
      { ...REQUIRED, HOME: '/', HOSTNAME: 'a', LOGNAME: 'b', NODE_ENV: 'c' },
      undefined,
      undefined,
    ],
  ])('cause a warning only if they are probably a mistake: %s', (_, environment, file, expected) => {
    const { warnings } = load(environment, file);
    expect(warnings).toEqual(expected === undefined ? [] : [expect.stringMatching(expected)]);
  });
});

describe('invalid settings', () => {
  test('are reported with the misspelt name that may be their cause', () => {
    expect(problemsOf({ UPSTREM_URL: 'http://indexer:8081' })).toEqual([
      'UPSTREAM_URL (upstream.url): is required',
      'UPSTREM_URL is not a setting: did you mean UPSTREAM_URL?',
    ]);
    expect(problemsOf({ UPSTREAM_ADDRESS: 'http://indexer:8081' })).toEqual([
      'UPSTREAM_URL (upstream.url): is required',
      'UPSTREAM_ADDRESS is not a setting, and is not read',
    ]);
  });

  test('are reported together, each with its name', () => {
    const file = {
      typo: 1,
      lifetimes: { final: 'forever', live: '0s', typo: 1 },
      admission: { patience: '0s' },
    };
    const problems = problemsOf(BAD_ENVIRONMENT, file).join('\n');
    for (const name of Object.keys(BAD_ENVIRONMENT)) expect(problems).toMatch(new RegExp(`^${name}[ =]`, 'm'));
    for (const name of ['typo', 'lifetimes.final', 'lifetimes.live', 'lifetimes.typo', 'admission.patience']) {
      expect(problems).toMatch(new RegExp(`^${name}(?:="\\w+")?: `, 'm'));
    }
  });

  test('are reported together with an unreadable file', () => {
    const environment = { ...BAD_ENVIRONMENT, CONFIG_FILE: '/nowhere/toncache.json' };
    const problems = problemsOf(environment).join('\n');
    expect(problems).toMatch(/^CONFIG_FILE: \/nowhere\/toncache\.json does not exist$/m);
    expect(problems).toMatch(/^PORT=/m);
    // No error about `UPSTREAM_URL`: the file may set it.
    expect(problemsOf({ CONFIG_FILE: '/nowhere/toncache.json' })).toHaveLength(1);
    expect(problemsOf({}, '{\n  "upstream": {,')).toEqual([expect.stringMatching(/is not JSON at line 2, column 16$/)]);
  });

  test.each(['UTF-16 with a byte order mark', 'Latin-1'])(
    'include a file in %s, which is reported as not UTF-8',
    (encoding) => {
      const folder = mkdtempSync(join(tmpdir(), 'toncache-encoding-'));
      const path = join(folder, 'toncache.json');
      const text = encoding === 'Latin-1' ? '{"network": "caf\u00e9"}' : '\ufeff{}';
      writeFileSync(path, text, encoding === 'Latin-1' ? 'latin1' : 'utf16le');
      expect(problemsOf({ ...REQUIRED, CONFIG_FILE: path })).toEqual([`CONFIG_FILE: ${path} is not UTF-8`]);
      rmSync(folder, { recursive: true });
    },
  );

  test.each(['', '{', 'null', '[]', '"text"', '7'])('include a file with the content %j', (text) => {
    expect(problemsOf(REQUIRED, text === '' ? ' ' : text)).toEqual([expect.stringMatching(/^CONFIG_FILE: /)]);
  });

  test.each([
    [{ redis: 7 }, 'redis'],
    [{ upstream: 'http://x' }, 'upstream'],
    [{ http: [8080] }, 'http'],
    [{ lifetimes: '1s' }, 'lifetimes'],
    [{ memory: { maxSize: 268435456 } }, 'memory.maxSize=268435456'],
    [{ upstream: { timeout: 5000 } }, 'upstream.timeout=5000'],
    [{ lifetimes: { notFound: 250 } }, 'lifetimes.notFound=250'],
    [{ network: null }, 'network=null'],
    [{ http: { port: [8080] } }, 'PORT'],
  ])('of the wrong type are not reported as missing: %j', (file, name) => {
    const [problem, ...others] = problemsOf({}, { upstream: { url: 'http://x' }, ...file }).filter(
      (text) => !text.startsWith('UPSTREAM_URL'),
    );
    expect(problem).toMatch(new RegExp(`^${name}[ :]`));
    expect(problem).not.toContain('required');
    expect(problem).toMatch(/: (?:must be|has no unit; write) /);
    expect(others).toEqual([]);
  });

  test.each([
    [{ UPSTREAM_TIMEOUT: '5000' }, undefined, 'UPSTREAM_TIMEOUT="5000": has no unit; write 5s'],
    [{ UPSTREAM_TIMEOUT: '30' }, undefined, 'UPSTREAM_TIMEOUT="30": has no unit; write 30ms or 30s'],
    [{ MEMORY_MAX_SIZE: '268435456' }, undefined, 'MEMORY_MAX_SIZE="268435456": has no unit; write 256MiB'],
    [{ MEMORY_MAX_SIZE: '512' }, undefined, 'MEMORY_MAX_SIZE="512": has no unit; write 512MiB'],
    [{}, { redis: { budget: 0.5 } }, 'redis.budget=0.5: has no unit; write 500ms'],
    [{}, { admission: { patience: 60_000 } }, 'admission.patience=60000: has no unit; write 1min'],
    [
      { UPSTREAM_TIMEOUT: '9999999' },
      undefined,
      'UPSTREAM_TIMEOUT="9999999": has no unit; must be 10ms to 5min, written like "400ms" (units: ms, s, m, min, h, d)',
    ],
  ])('without a unit are reported with the text to write: %j, %j', (environment, file, problem) => {
    expect(problemsOf({ ...REQUIRED, ...environment }, file)).toEqual([problem]);
  });

  test.each([
    [{ PORT: 'eighty' }, undefined, 'PORT="eighty": '],
    [{ LOG_LEVEL: 'loud' }, undefined, 'LOG_LEVEL="loud": '],
    [{ NETWORK: 'Main Net' }, undefined, 'NETWORK="Main Net": '],
    [{ TRUSTED_PROXIES: '10.0.0.0/99' }, undefined, 'TRUSTED_PROXIES="10.0.0.0/99": '],
    [{}, { clients: { showAddresses: 'maybe' } }, 'clients.showAddresses="maybe": '],
    [{}, { http: { fastLane: 7 } }, 'http.fastLane=7: '],
  ])('are reported with their value, as it was written: %j, %j', (environment, file, subject) => {
    expect(problemsOf({ ...REQUIRED, ...environment }, file)).toEqual([expect.stringContaining(subject)]);
  });

  test.each([
    [{ memroy: {} }, 'memroy: is not a setting: did you mean memory?'],
    [{ memory: { max_size: '1MiB' } }, 'memory.max_size: is not a setting: did you mean maxSize?'],
    [{ upstream: { backup: { urls: 'http://x' } } }, 'upstream.backup.urls: is not a setting: did you mean url?'],
    [{ http: { maxSize: '1MiB' } }, 'http.maxSize: is not a setting'],
  ])(
    'with an unknown name in the file are reported with the nearest known name, if one is near: %j',
    (file, problem) => {
      expect(problemsOf(REQUIRED, file)).toEqual([problem]);
    },
  );

  test('include an unknown name in CACHE_OPERATIONS, reported with the nearest known operation, if one is near', () => {
    const problems = problemsOf({ ...REQUIRED, CACHE_OPERATIONS: 'block, pendingTraces' });
    expect(problems).toEqual([
      expect.stringMatching(
        /^CACHE_OPERATIONS="block, pendingTraces": must be all, or of blocks.*: did you mean blocks\?$/,
      ),
    ]);
    expect(problemsOf({ ...REQUIRED, CACHE_OPERATIONS: 'estimateFee' })).toEqual([
      expect.not.stringContaining('meant'),
    ]);
    const named = (CACHE_OPERATIONS: string) => load({ ...REQUIRED, CACHE_OPERATIONS }).settings.operations;
    // Where only listed paths are passed through, `all` alone does not open it.
    const all = OPERATION_NAMES.filter((each) => each !== 'runGetMethod');
    expect([named('blocks'), named('all'), named('')]).toEqual([['blocks'], [...all, 'all'], undefined]);
    expect([named('passthrough'), named('passthrough, blocks'), named('passthrough,all')]).toEqual([
      ['passthrough'],
      ['blocks', 'passthrough'],
      [...all, 'passthrough', 'all'],
    ]);
    expect(named('all,runGetMethod')).toEqual([...OPERATION_NAMES, 'all']);
  });

  test('include an admission.maxMemoryShare of 0, at which every miss would be refused', () => {
    const limit = (maxMemoryShare: number) => problemsOf(REQUIRED, { admission: { maxMemoryShare } });
    expect(limit(0)).toEqual(['admission.maxMemoryShare=0: must be more than 0: at 0 every miss is refused']);
    expect([limit(0.01), limit(1)]).toEqual([[], []]);
  });

  test('are reported with the path of the file if they come from it', () => {
    const file = { http: { port: -1 } };
    expect(problemsOf(REQUIRED, file)).toEqual([expect.stringMatching(/^http\.port=-1 in .*toncache\.json: must be/)]);
    expect(problemsOf({ ...REQUIRED, PORT: '-1' }, file)).toEqual([expect.stringMatching(/^PORT="-1": must be/)]);
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'include a key %s, which is refused like any unknown key and changes nothing',
    (key) => {
      const value = '{"port":1,"network":"evil","url":"redis://evil"}';
      expect(problemsOf(REQUIRED, `{"${key}":${value}}`)).toEqual([`${key}: is not a setting`]);
      expect(problemsOf(REQUIRED, `{"http":{"${key}":${value}}}`)).toEqual([`http.${key}: is not a setting`]);
      expect(Object.keys(Object.prototype)).toEqual([]);
      expect(load(REQUIRED).settings.http.port).toBe(8080);
    },
  );
});
