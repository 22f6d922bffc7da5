import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { failed, notServed, rateLimited, refusedKey, withoutBlocks } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { asAdmin } from '../support/as-admin.ts';
import { compiledCode } from '../support/compile-cache.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { startRedis } from '../support/redis-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const NOBODY = '127.0.0.1:1';

let indexer: Indexer;

beforeEach(async () => {
  indexer = await startIndexer();
});

afterEach(() => indexer.close());

/** Runs `check-config --connect` to its own end: the exit code, the rows of its table, and its other lines. */
function check(env: Readonly<Record<string, string>> = {}) {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; rows: string[]; errors: string }>();
  const args = ['src/cli/main.ts', 'check-config', '--connect'];
  const given = { UPSTREAM_URL: indexer.url, NETWORK: 'mainnet', ...env, ...compiledCode() };
  const child = execFile(process.execPath, args, { cwd: ROOT, env: given }, (_, stdout, errors) => {
    const [, table = ''] = stdout.split(/^tried .*\n/m);
    resolve({ code: child.exitCode, rows: table.trim().split('\n'), errors });
  });
  return promise;
}

const row = (service: string, word: string, found: string) =>
  expect.stringMatching(new RegExp(`^${service}(?: \\S+)? +${word} +${found}`));

const ANSWERS = 'answers; newest masterchain block \\d+, .* old$';

/** The address of a server that accepts connections and never answers. */
async function silentServer(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('check-config --connect of an indexer', () => {
  it.each([
    [
      'with a wrong key',
      () => indexer.faults.inject(refusedKey(403)),
      () => ({}),
      69,
      'WRONG',
      '.*refuses our API key \\(403',
    ],
    ['of another NETWORK', () => {}, () => ({ NETWORK: 'testnet' }), 69, 'WRONG', '.*follows another chain .*-239'],
    [
      'that fails',
      () => indexer.faults.inject(failed(503)),
      () => ({}),
      69,
      'WRONG',
      '.*answers 503 \\(simulated failure',
    ],
    [
      'that asks for a pause',
      () => indexer.faults.inject(rateLimited('json')),
      () => ({}),
      69,
      'WRONG',
      '.*answers 429.*exceed',
    ],
    [
      'that closes connections',
      () => indexer.faults.inject({ kind: 'reset' }),
      () => ({}),
      69,
      'WRONG',
      '.*closes the connection',
    ],
    [
      'at a wrong path',
      () => {},
      () => ({ UPSTREAM_URL: `${indexer.url}/nowhere` }),
      69,
      'WRONG',
      '.*does not answer as an indexer.*404',
    ],
    [
      'that is a page',
      () => indexer.faults.inject({ kind: 'answer', status: 200, body: '<p>' }),
      () => ({}),
      69,
      'WRONG',
      '.*not answer as an indexer: masterchainInfo is answered without a block',
    ],
    [
      'that redirects',
      () => indexer.faults.inject({ kind: 'answer', status: 302, body: '' }),
      () => ({}),
      69,
      'WRONG',
      '.*not answer as an indexer.*302',
    ],
    [
      'that lacks its newest block',
      () => indexer.faults.inject(withoutBlocks(), { operation: 'masterchainBlockShards' }),
      () => ({ UPSTREAM_RPS: '5' }),
      69,
      'WRONG',
      '.*lacks a block that it named.* \\(block 6',
    ],
  ])('%s ends with its exit code, and its row says why', async (_, fault, env, code, word, found) => {
    fault();
    expect(await check(env())).toEqual({ code, rows: [row('indexer', word, found)], errors: '' });
  });

  it('lists operations that are not served or fail, each in a row, and exits 0', async () => {
    indexer.faults.inject(notServed('pendingTraces', 'no-redis'), { operation: 'pendingTraces' });
    indexer.faults.inject(failed(500), { operation: 'traces' });
    const { code, rows } = await check({ CACHE_OPERATIONS: 'traces' });
    expect([code, rows]).toEqual([
      0,
      [
        row('indexer', 'ok', ANSWERS),
        row('indexer', 'LACKS', 'the indexer does not serve pendingTraces: '),
        row('indexer', 'LACKS', 'traces: the indexer answers 500 \\(simulated failure 500\\)$'),
      ],
    ]);
  });

  it('asks an indexer and a backup for their heads and each operation, once', async () => {
    const backup = await startIndexer();
    onTestFinished(() => backup.close());
    expect(await check({ UPSTREAM_BACKUP_URL: backup.url })).toMatchObject({
      code: 0,
      rows: [row('indexer', 'ok', ANSWERS), row('indexer', 'ok', ANSWERS)],
    });
    for (const each of [indexer, backup]) {
      const counts = (['masterchainInfo', 'pendingTraces', 'adjacentTransactions'] as const).map((name) =>
        each.requests.count(name),
      );
      expect(counts).toEqual([1, 1, 1]);
    }
  });

  it('warns about a backup that is away', async () => {
    const { code, rows } = await check({ UPSTREAM_BACKUP_URL: `http://${NOBODY}` });
    expect([code, rows]).toEqual([
      0,
      [row('indexer', 'ok', ANSWERS), row('indexer', 'away', '.* is unreachable \\(connect ECONNREFUSED')],
    ]);
  });
});

describe('check-config --connect of Redis', () => {
  it.each([
    ['away', async () => NOBODY, 0, 'away', 'cannot be reached: connect ECONNREFUSED'],
    ['silent', silentServer, 0, 'away', 'cannot be reached: (no response|a command was not answered in time)$'],
  ])('that is %s warns, and exits 0', async (_, address, code, word, found) => {
    expect(await check({ REDIS_URL: `redis://${await address()}` })).toEqual({
      code,
      rows: [row('indexer', 'ok', ANSWERS), row('Redis', word, found)],
      errors: '',
    });
  });

  it('with a wrong password exits 69; a read-only one is away, because instances can start without it', async () => {
    await using redis = await startRedis({ args: ['--requirepass', 'right', '--masterauth', 'right'] });
    const { host } = new URL(redis.url);
    const found = async (password: string) => (await check({ REDIS_URL: `redis://:${password}@${host}` })).rows[1];
    expect(await found('wrong')).toEqual(row('Redis', 'WRONG', 'cannot be used: WRONGPASS'));
    expect(await found('right')).toEqual(row('Redis', 'ok', 'answers; same time$'));
    await using replica = await startRedis();
    await asAdmin(replica, (admin) => admin.replicaof('127.0.0.1', redis.port));
    const { code, rows } = await check({ REDIS_URL: replica.url });
    expect([code, rows[1]]).toEqual([0, row('Redis', 'away', 'cannot be reached: READONLY')]);
  });

  it('takes and ends one lease, writes nothing else, and counts as no instance', async () => {
    await using redis = await startRedis();
    using monitor = await monitorRedis(redis.url, { withScripts: true });
    expect((await check({ REDIS_URL: redis.url, UPSTREAM_RPS: '50' })).code).toBe(0);
    const writes = monitor.commands.filter(([name = '']) => /^(set|zadd|hset|incr|del|eval)/i.test(name));
    const written = writes
      .filter(([name = '']) => !/^eval/i.test(name))
      .map(([name = '', key = '']) => [name.toLowerCase(), key]);
    expect(new Set(written.map(([name]) => name))).toEqual(new Set(['set', 'del']));
    for (const [, key] of written) expect(key).toMatch(/:lease$/);
    expect(await asAdmin(redis, (admin) => admin.keys('*'))).toEqual([]);
  });
});

describe('check-config --connect of the stream', () => {
  it.each([
    ['opens', () => {}, 'ok', 'answers$'],
    [
      'refuses the key',
      () => Object.assign(indexer.streaming.faults, { apiKey: 'another' }),
      'away',
      'cannot be reached: it answers 401$',
    ],
    [
      'closes the connection',
      () => Object.assign(indexer.streaming.faults, { refusesConnections: true }),
      'away',
      'cannot be reached: ',
    ],
  ])('exits 0 if it %s, and opens it once', async (_, fault, word, found) => {
    fault();
    const { code, rows } = await check({ STREAM_URL: indexer.streamUrl });
    expect([code, rows]).toEqual([0, [row('indexer', 'ok', ANSWERS), row('stream', word, found)]]);
  });
});

it('check-config --connect ends by itself if nobody answers: neither an indexer, nor Redis, nor the stream', async () => {
  const silent = await silentServer();
  const { code, rows, errors } = await check({
    UPSTREAM_URL: `http://${silent},http://${NOBODY}`,
    UPSTREAM_BACKUP_URL: `http://localhost:${silent.split(':')[1]}`,
    UPSTREAM_TIMEOUT: '500ms',
    REDIS_URL: `redis://${silent}`,
    STREAM_URL: `ws://${silent}`,
  });
  expect([code, rows, errors]).toEqual([
    69,
    [
      row('indexer', 'WRONG', '.* does not answer in time'),
      row('indexer', 'WRONG', '.* is unreachable'),
      row('indexer', 'WRONG', '.* does not answer in time'),
      row('Redis', 'away', 'cannot be reached: (no response|a command was not answered in time)$'),
      row('stream', 'away', 'cannot be reached: no response in time$'),
    ],
    '',
  ]);
});
