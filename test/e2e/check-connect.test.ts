import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { notServed, refusedKey, withoutBlocks } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { runCommand } from '../support/command-output.ts';
import { readPage } from '../support/documented-commands.ts';
import { startRedis } from '../support/redis-server.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';

const NOBODY = '127.0.0.1:1';

let indexer: Indexer;

beforeEach(async () => {
  indexer = await startIndexer();
});

afterEach(() => indexer.close());

interface Printed {
  readonly warnings: readonly string[];
  readonly checks: readonly { service: string; found: string; isWrong: boolean; isFatal: boolean }[];
}

async function connect(env: Readonly<Record<string, string>>) {
  const { code, stdout } = await runCommand(['check-config', '--connect', '--json'], {
    env: { NETWORK: 'mainnet', ...env },
  });
  return { code, ...(JSON.parse(stdout) as Printed) };
}

describe('check-config --connect', () => {
  it('finds nothing wrong if all services answer', async () => {
    await using redis = await startRedis();
    const env = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, STREAM_URL: indexer.streamUrl };
    const { code, checks } = await connect(env);
    expect(code).toBe(0);
    expect(checks.map(({ service, isWrong }) => [service.split(' ')[0], isWrong])).toEqual([
      ['indexer', false],
      ['Redis', false],
      ['stream', false],
    ]);
    expect(checks[0]?.found).toMatch(/^answers; newest masterchain block 6\d+, .* old$/);
    expect(checks[1]?.found).toBe('answers; same time');
  });

  it.each([
    ['pendingTraces', 'no-redis'],
    ['adjacentTransactions', 'no-path'],
    ['masterchainBlockShards', 'not-implemented'],
  ] as const)('reports an operation that the indexer does not serve, and exits 0: %s, %s', async (operation, why) => {
    indexer.faults.inject(notServed(operation, why), { operation });
    const { code, checks } = await connect({ UPSTREAM_URL: indexer.url });
    expect(code).toBe(0);
    expect(checks.map(({ found, isWrong }) => [found, isWrong])).toEqual([
      [expect.stringMatching(/^answers; newest masterchain block/), false],
      [expect.stringContaining(`the indexer does not serve ${operation}: `), false],
    ]);
    const { stdout } = await runCommand(['check-config', '--connect'], { env: { UPSTREAM_URL: indexer.url } });
    expect(stdout).toMatch(/ LACKS +the indexer does not serve/);
  });

  it('reports an indexer, but not a backup, with a shorter history than another one, and exits 0', async () => {
    const other = await startIndexer();
    onTestFinished(() => other.close());
    const url = `${indexer.url},${other.url}`;
    const firstOf = ({ faults }: Indexer, first: number) => {
      faults.clear();
      faults.inject({ kind: 'head', first }, { operation: 'masterchainInfo' });
    };
    const lacking = async (env: Readonly<Record<string, string>>) => {
      const { code, checks } = await connect(env);
      expect(code).toBe(0);
      return checks.flatMap(({ service, found }) => (found.startsWith('answers;') ? [] : [[service, found]]));
    };
    firstOf(indexer, 1);
    firstOf(other, 1001);
    expect(await lacking({ UPSTREAM_URL: url })).toEqual([]);
    firstOf(other, 1002);
    const { host } = new URL(other.url);
    expect(await lacking({ UPSTREAM_URL: url })).toEqual([
      [`indexer ${host}`, `${host}'s history begins at block 1002: give all indexers the same history`],
    ]);
    expect(await lacking({ UPSTREAM_URL: indexer.url, UPSTREAM_BACKUP_URL: other.url })).toEqual([]);
  });

  it('reports an indexer that is far behind another one, but not one a few blocks behind, and exits 0', async () => {
    const startAt = Date.now() - 60_000;
    const startLagging = async (ms: number) => {
      const started = await startIndexer({ chain: new Chain({ startAt }), now: () => Date.now() - ms });
      onTestFinished(() => started.close());
      return started.url;
    };
    const [newest, little, much] = [await startLagging(0), await startLagging(2000), await startLagging(40_000)];
    const env = { UPSTREAM_URL: `${much},${newest},${little}` };
    const { code, checks } = await connect(env);
    const lacking = checks.filter(({ found }) => !found.startsWith('answers'));
    expect([code, lacking.map(({ service, found, isWrong }) => [service, found, isWrong])]).toEqual([
      0,
      [
        [
          `indexer ${new URL(much).host}`,
          expect.stringMatching(/:\d+ is behind: others are used \(\d+ blocks\)$/),
          false,
        ],
      ],
    ]);
    const { stdout } = await runCommand(['check-config', '--connect'], { env });
    const [, shown = ''] = /`LACKS`, `(.*?)`/.exec(readPage('docs/how-to/second-indexer.md')) ?? [];
    const [, printed = ''] = / LACKS +\S+ (.*blocks\))/.exec(stdout) ?? [];
    expect(printed.replace(/\d+/, 'N')).toBe(shown.replace(/\d+/, 'N'));
  });

  it('reports the timeout of a server that accepts connections but does not answer', async () => {
    const silent = createTcpServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { code, checks } = await connect({ UPSTREAM_URL: `http://127.0.0.1:${port}`, UPSTREAM_TIMEOUT: '300ms' });
    expect([code, checks.map(({ found, isWrong }) => [found, isWrong])]).toEqual([
      69,
      [['the indexer does not answer in time', true]],
    ]);
  });

  it('warns about an unreachable indexer, Redis and stream, and exits 0 because the backup answers', async () => {
    const { code, checks, warnings } = await connect({
      UPSTREAM_URL: `http://${NOBODY}`,
      UPSTREAM_BACKUP_URL: indexer.url,
      REDIS_URL: `redis://${NOBODY}`,
      PASSTHROUGH: 'on',
      STREAM_URL: `ws://${NOBODY}`,
    });
    expect(code).toBe(0);
    expect(checks.map(({ isWrong }) => isWrong)).toEqual([true, false, true, true]);
    expect(warnings.map((warning) => warning.split(' cannot be reached: ')[0])).toEqual([
      `indexer ${NOBODY}`,
      'Redis',
      `stream ${NOBODY}`,
    ]);
    for (const { found } of [checks[0], checks[2]].flatMap((check) => check ?? []))
      expect(found).toContain('ECONNREFUSED');
    expect(checks[3]?.found).toBe(`cannot be reached: connect ECONNREFUSED ${NOBODY}`);
  });

  it('reports a refused key, another chain, and a server that is not an indexer, and exits 69', async () => {
    const wrong = async (env: Readonly<Record<string, string>> = {}) => {
      const { code, checks } = await connect({ UPSTREAM_URL: indexer.url, ...env });
      return [code, checks[0]?.found];
    };
    expect(await wrong({ NETWORK: 'testnet' })).toEqual([
      69,
      'the indexer follows another chain than NETWORK (global_id -239)',
    ]);
    indexer.faults.inject(refusedKey(401), { times: 1 });
    expect(await wrong({ UPSTREAM_API_KEY: 'secret-key' })).toEqual([
      69,
      'the indexer refuses our API key (401: API key does not exist): check UPSTREAM_API_KEY',
    ]);
    indexer.faults.inject({ kind: 'answer', status: 200, body: '{"ok":true}' }, { times: 1 });
    expect(await wrong()).toEqual([69, expect.stringContaining('does not answer as an indexer')]);
    expect(await wrong({ UPSTREAM_URL: `${indexer.url}/nowhere` })).toEqual([69, expect.stringContaining('with 404')]);
  });

  it('explains a server without TLS, and a certificate of an unknown authority', async () => {
    const { port } = new URL(indexer.url);
    const plain = await connect({
      UPSTREAM_URL: `https://127.0.0.1:${port}`,
      REDIS_URL: `rediss://127.0.0.1:${port}`,
    });
    expect([plain.code, ...plain.checks.map(({ found }) => found)]).toEqual([
      69,
      ...Array(2).fill(
        expect.stringMatching(
          /(cannot be reached|is unreachable).*[ (]it speaks no TLS: its address begins with http:\/\/, not https:\/\/ \(of Redis: redis:\/\/, not rediss:\/\/\)/,
        ),
      ),
    ]);
    const server = createServer(selfSignedCertificate('localhost', '127.0.0.1')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port: securePort } = server.address() as AddressInfo;
    const selfSigned = await connect({
      UPSTREAM_URL: `https://127.0.0.1:${securePort}`,
      REDIS_URL: `rediss://127.0.0.1:${securePort}`,
    });
    expect(selfSigned.checks.map(({ found }) => found)).toEqual(
      Array(2).fill(
        expect.stringMatching(
          /(cannot be reached|is unreachable).*[ (]self-signed certificate: write the file .* into NODE_EXTRA_CA_CERTS \(/,
        ),
      ),
    );
  });

  it('explains a Redis with TLS at redis://, and one without at rediss://', async () => {
    await using redis = await startRedis();
    const plain = await connect({ UPSTREAM_URL: indexer.url, REDIS_URL: redis.url.replace('redis://', 'rediss://') });
    expect(plain.checks.map(({ found }) => found)).toContain(
      'cannot be reached: it speaks no TLS: write redis://, not rediss://',
    );
    const server = createTlsServer(selfSignedCertificate('localhost', '127.0.0.1')).listen(0, '127.0.0.1');
    server.on('tlsClientError', () => {});
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const secure = await connect({ UPSTREAM_URL: indexer.url, REDIS_URL: `redis://127.0.0.1:${port}` });
    expect(secure.checks.map(({ found }) => found)).toContain(
      'cannot be reached: it speaks TLS: write rediss://, not redis://',
    );
    for (const url of [`redis-cluster://127.0.0.1:${port}`, `redis-sentinel://127.0.0.1:${port}/0?name=primary`]) {
      const { checks } = await connect({ UPSTREAM_URL: indexer.url, REDIS_URL: url });
      expect([url, ...checks.map(({ found }) => found)]).toContain(
        'cannot be reached: it speaks TLS: set REDIS_TLS_CA_FILE',
      );
    }
  });

  it('explains a Redis Cluster without TLS where REDIS_TLS_CA_FILE is set', async () => {
    await using redis = await startRedis();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-'));
    const caFile = join(folder.path, 'ca.pem');
    await writeFile(caFile, selfSignedCertificate('localhost', '127.0.0.1').cert);
    const { checks } = await connect({
      UPSTREAM_URL: indexer.url,
      REDIS_URL: redis.url.replace('redis://', 'redis-cluster://'),
      REDIS_TLS_CA_FILE: caFile,
    });
    expect(checks.map(({ found }) => found)).toContain(
      'cannot be reached: it speaks no TLS: leave out REDIS_TLS_CA_FILE',
    );
  });

  it('lets toncache start while one of several indexers fails, but not if all fail or one answers 401 or 404', async () => {
    const failing = async (status: number, url: string) => {
      indexer.faults.inject({ kind: 'answer', status, body: '{}' }, { times: 1 });
      const { code, checks } = await connect({ UPSTREAM_URL: url });
      return [code, ...checks.map(({ isFatal }) => isFatal)];
    };
    const other = await startIndexer();
    onTestFinished(() => other.close());
    const several = `${indexer.url},${other.url}`;
    for (const status of [429, 500, 502, 503]) {
      expect(await failing(status, several)).toEqual([0, false, false]);
      expect(await failing(status, indexer.url)).toEqual([69, true]);
    }
    for (const status of [401, 404]) expect(await failing(status, several)).toEqual([69, true, false]);
    const { code, checks } = await connect({ UPSTREAM_URL: `http://${NOBODY},http://127.0.0.1:2` });
    expect([code, ...checks.map(({ isFatal }) => isFatal)]).toEqual([69, true, true]);
  });

  it('lets toncache start while Redis does not answer, but not if Redis answers with an error', async () => {
    await using redis = await startRedis({ args: ['--requirepass', 'right'] });
    const started = async (url: string) => (await connect({ UPSTREAM_URL: indexer.url, REDIS_URL: url })).code;
    const { host } = new URL(redis.url);
    expect(await started(`redis://:wrong@${host}`)).toBe(69);
    expect(await started(`redis://${host}`)).toBe(69);
    expect(await started(`redis-cluster://:right@${host}`)).toBe(69);
    expect(await started(`redis://:right@${host}`)).toBe(0);
    await redis.pause();
    const { code, checks } = await connect({ UPSTREAM_URL: indexer.url, REDIS_URL: `redis://:right@${host}` });
    expect([code, checks[1]?.found]).toEqual([
      0,
      expect.stringMatching(/^cannot be reached: (no response|a command was not answered in time)$/),
    ]);
  });

  it('lists an unreachable service in its table, with a warning', async () => {
    const env = { UPSTREAM_URL: indexer.url, NETWORK: 'mainnet', REDIS_URL: `redis://${NOBODY}` };
    const { code, stdout } = await runCommand(['check-config', '--connect'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^warning: Redis cannot be reached: toncache starts without it, and uses it as soon as it answers$/m,
    );
    expect(stdout).toMatch(/^Redis +away +cannot be reached: /m);
    expect(stdout).toMatch(/^indexer \S+ +ok +answers/m);
  });

  it('reports after 3 s that an indexer does not have the block that it names as its newest', async () => {
    const lacking = indexer.faults.inject(withoutBlocks(), { operation: 'masterchainBlockShards' });
    const { code, checks } = await connect({ UPSTREAM_URL: indexer.url });
    expect([code, checks[0]?.found]).toEqual([
      69,
      expect.stringMatching(/^the indexer lacks a block that it named, .* \(block 6\d+\)$/),
    ]);
    expect(lacking.hits).toBe(7);
  });

  it('waits for the newest block if it becomes visible a little later', async () => {
    indexer.faults.inject(withoutBlocks(), { operation: 'masterchainBlockShards', times: 2 });
    expect((await connect({ UPSTREAM_URL: indexer.url })).code).toBe(0);
  });
});
