import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { OPERATIONS } from '../../src/ton/operations.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { debianProgram } from '../support/apt.ts';
import { freePort } from '../support/free-port.ts';
import { metricAt } from '../support/metric.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { startProxy } from '../support/start-proxy.ts';

const run = promisify(execFile);
const DEPLOY = new URL('../../config/deploy/', import.meta.url).pathname;

const deployFile = (path: string) => readFileSync(join(DEPLOY, path), 'utf8');

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toncache-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the systemd unit', () => {
  it('passes systemd-analyze verify', async () => {
    const program = await debianProgram('systemd-analyze', 'systemd');
    const folder = aFolder();
    // It looks for the program, which is not installed here.
    const unit = deployFile('systemd/toncache@.service').replace('/usr/bin/toncache', '/bin/true');
    const verify = (content: string) => {
      const path = join(folder, 'toncache@9464.service');
      for (const each of [path, join(folder, 'toncache@.service')]) writeFileSync(each, content);
      return spawnSync(program, ['verify', '--man=no', path], { encoding: 'utf8' });
    };
    const { stderr, status } = verify(unit);
    const ours = stderr.split('\n').filter((line) => line.includes('toncache'));
    expect([status, ours]).toEqual([0, []]);
    expect(verify(`${unit}\n[Service]\nRestrt=no\n`).stderr).toContain('Restrt');
  });
});

describe('the configuration of Prometheus', () => {
  it('passes promtool check config', async () => {
    const program = await debianProgram('promtool', 'prometheus');
    const { stdout } = await run(program, ['check', 'config', join(DEPLOY, 'prometheus.yml')]);
    expect(stdout).toContain('is valid prometheus config file syntax');
  });
});

describe('the configuration of Alertmanager', () => {
  it('passes amtool check-config', async () => {
    const program = await debianProgram('amtool', 'prometheus-alertmanager');
    const { stdout } = await run(program, ['check-config', join(DEPLOY, 'alertmanager.yml')]);
    expect(stdout).toContain('SUCCESS');
  });
});

describe('the configuration of nginx', () => {
  it('is accepted by nginx, which then serves toncache over TLS, with limits for each client', async () => {
    await using indexer = await startedIndexer();
    await using proxy = await startProxy({ upstreamUrl: indexer.url, env: { CACHE_OPERATIONS: 'all' } });
    const folder = aFolder();
    const port = await freePort();
    const config = nginxConfig(folder, { port, proxyUrls: [proxy.url], indexerUrl: indexer.url });
    const ask = await startNginx(folder, config, port);
    expect((await ask('change-me-1', '/api/v3/masterchainInfo')).cacheStatus).toMatch(/^toncache; /);

    const answers = await Promise.all(Array.from({ length: 200 }, () => ask()));
    const statuses = answers.map(({ status }) => status);
    // 40 at the same time, and 20 a second: those of this moment and no others.
    expect(statuses.filter((status) => status !== 429).length).toBeGreaterThanOrEqual(40);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(answers.find(({ status }) => status !== 429)?.cacheStatus).toMatch(/^toncache; /);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({ body: '{"error":"too many requests"}', cors: '*', retryAfter: '1' });
    expect(readFileSync(join(folder, 'toncache.log'), 'utf8')).toMatch(/ 404 \d+ [\d.]+s "toncache; /);

    const known = await Promise.all(Array.from({ length: 200 }, () => ask('change-me-1')));
    expect(new Set(known.map(({ status }) => status))).toEqual(new Set([404]));
  });

  it('removes the API keys of clients from the header and from every spelling of the parameter', async () => {
    await using indexer = await startedIndexer();
    await using proxy = await startProxy({ upstreamUrl: indexer.url });
    const folder = aFolder();
    const port = await freePort();
    const config = nginxConfig(folder, { port, proxyUrls: [proxy.url], indexerUrl: indexer.url });
    const ask = await startNginx(folder, config, port);
    const path = '/api/v3/accountStates';
    /** The request that arrives at the indexer, which nginx uses directly for this path. */
    const sent = async (query: string) => {
      await ask('change-me-1', `${path}${query}`);
      const { target = '', headers = {} } = indexer.requests.recent.at(-1) ?? {};
      expect(headers).not.toHaveProperty('x-api-key');
      return target;
    };
    for (const query of [
      '',
      '?address=0%3AAB&x=%2b',
      '?a=1;b=2',
      '?my_api_key=1&api_keys=2&a=api_key',
      '?a=api_key=1',
    ]) {
      expect(await sent(query)).toBe(`${path}${query}`);
    }
    for (const key of [
      'api_key=s',
      'API_KEY=s',
      'api_key',
      'api_key=',
      '%61pi%5Fkey=s',
      'a%50I_k%65y=s=t',
      'api_key=s&api_key=t',
    ]) {
      for (const [before, after] of [
        ['', ''],
        ['a=%2b&', ''],
        ['', '&a=%2b'],
        ['a=%2b;', ';b=1'],
        ['a=%2b&', '&b=1'],
      ]) {
        const parts = (await sent(`?${before}${key}${after}`)).slice(path.length + 1).split(/[&;]/);
        expect(parts.filter((part) => part !== '')).toEqual(
          `${before}${after}`.split(/[&;]/).filter((part) => part !== ''),
        );
      }
    }
    const { status } = await ask('change-me-1', `${path}?api_key=1&api_key=2&%61pi_key=3`);
    expect(status).toBe(400);
  });

  it('sends all requests for one account to one instance, and spreads accounts and hashes over both', async () => {
    await using indexer = await startedIndexer();
    const start = () => startProxy({ upstreamUrl: indexer.url, env: { CACHE_OPERATIONS: 'all' } });
    await using one = await start();
    await using other = await start();
    const folder = aFolder();
    const port = await freePort();
    const config = nginxConfig(folder, { port, proxyUrls: [one.url, other.url], indexerUrl: indexer.url });
    const ask = await startNginx(folder, config, port);
    /** The instances, 0 and 1, that have loaded something for requests of this form with 16 values. */
    const used = async (form: (value: string) => readonly string[]) => {
      const found = [];
      for (let value = 0; value < 16; value++) {
        const before = await Promise.all([one, other].map(missesOf));
        for (const path of form(value.toString(16).repeat(64))) await ask('change-me-1', `/api/v3/${path}`);
        const after = await Promise.all([one, other].map(missesOf));
        found.push(after.flatMap((misses, place) => (misses > (before[place] ?? 0) ? [place] : [])));
      }
      return found;
    };
    const ofAccounts = await used((hex) => [
      `transactions?account=0:${hex}`,
      `addressInformation?address=0:${hex}`,
      `wallet?address=0:${hex}&use_v2=false`,
    ]);
    expect(ofAccounts.map(({ length }) => length)).toEqual(Array.from({ length: 16 }, () => 1));
    expect(new Set(ofAccounts.flat())).toEqual(new Set([0, 1]));
    expect(new Set((await used((hex) => [`transactions?hash=${hex}`])).flat())).toEqual(new Set([0, 1]));
  });

  it('answers every request while two instances are restarted one after the other', async () => {
    await using indexer = await startedIndexer();
    const folder = aFolder();
    const port = await freePort();
    const ports = [await freePort(), await freePort()];
    const proxyUrls = ports.map((each) => `http://127.0.0.1:${each}`);
    const start = (each: number) => ProxyProcess.start({ UPSTREAM_URL: indexer.url, PORT: String(each) });
    const instances = await Promise.all(ports.map(start));
    const config = nginxConfig(folder, { port, proxyUrls, indexerUrl: indexer.url });
    const ask = await startNginx(folder, config, port);

    const statuses = new Map<number, number>();
    let restarting = true;
    let asked = 0;
    const client = async () => {
      while (restarting) {
        const { status } = await ask('change-me-1', `/api/v3/masterchainBlockShards?seqno=${1 + (asked++ % 1000)}`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (const [index, each] of ports.entries()) {
      await using ending = instances[index] as ProxyProcess;
      ending.signal('SIGTERM');
      expect(await ending.ended).toMatchObject({ code: 0 });
      instances[index] = await start(each);
      const before = asked;
      await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 200), { timeout: 60_000 });
    }
    restarting = false;
    await Promise.all(clients);
    await Promise.all(instances.map((each) => each[Symbol.asyncDispose]()));
    expect(Object.fromEntries(statuses)).toEqual({ 404: asked });
  });
});

async function startedIndexer() {
  const indexer = await startIndexer();
  return { url: indexer.url, requests: indexer.requests, [Symbol.asyncDispose]: () => indexer.close() };
}

/**
 * Starts nginx, which must accept the configuration without a warning. Resolves with a function that sends requests,
 * once it answers.
 */
async function startNginx(folder: string, config: string, port: number) {
  const program = await debianProgram('nginx', 'nginx-light');
  const base = ['-p', folder, '-c', config, '-e', join(folder, 'error.log')];
  const { stderr } = await run(program, ['-t', ...base]);
  expect(stderr).toContain('test is successful');
  expect(stderr).not.toMatch(/\[(warn|error|emerg)\]/);
  const nginx = spawn(program, [...base, '-g', 'daemon off;'], { stdio: 'ignore' });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  onTestFinished(async () => {
    const ended = once(nginx, 'exit');
    nginx.kill('SIGTERM');
    agent.destroy();
    await ended;
  });
  const ask = (key?: string, path = '/api/v3/masterchainBlockShards?seqno=1') => askOverTls(agent, port, path, key);
  await vi.waitFor(() => ask('change-me-2'), { timeout: 20_000, interval: 50 });
  return ask;
}

interface NginxPlaces {
  readonly port: number;
  readonly proxyUrls: readonly string[];
  readonly indexerUrl: string;
}

/** The unchanged file, with the ports and paths of this test. */
/** The requests that an instance has sent to its indexer for operations about accounts. */
async function missesOf({ adminUrl }: { readonly adminUrl: string }): Promise<number> {
  const provable = [...OPERATIONS.values()].filter(({ evidence }) => evidence !== undefined);
  const counts = provable.map(({ name: operation }) => metricAt(adminUrl, 'upstreamRequests', { operation }));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

function nginxConfig(folder: string, at: NginxPlaces): string {
  const { key, cert } = selfSignedCertificate('ton.example', '127.0.0.1');
  writeFileSync(join(folder, 'ton.example.key'), key);
  writeFileSync(join(folder, 'ton.example.crt'), cert);
  mkdirSync(join(folder, 'logs'));
  const config = deployFile('nginx.conf')
    // The routes of further operations are comments.
    .replace(/^( +)# (location .*| {4}proxy_pass .*|})$/gm, '$1$2')
    .replace('pid /run/nginx.pid;', `pid ${folder}/nginx.pid;`)
    .replace('worker_processes auto;', 'worker_processes 1;')
    .replace('worker_rlimit_nofile 65536;', '')
    .replace('worker_connections 8192;', 'worker_connections 512;')
    .replace('listen 443', `listen 127.0.0.1:${at.port}`)
    .replaceAll('/etc/nginx/tls/', `${folder}/`)
    .replaceAll('/var/log/nginx/', `${folder}/`)
    .replace(/server 127\.0\.0\.1:8080(.*;)/g, (_, options: string) =>
      at.proxyUrls.map((url) => `server ${new URL(url).host}${options}`).join('\n'),
    )
    .replace('rate=500r/s', 'rate=100000r/s')
    .replace('127.0.0.1:8081', new URL(at.indexerUrl).host)
    .replace('http {', `http {\n    client_body_temp_path ${folder}/body;\n`);
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, config);
  return path;
}

interface NginxAnswer {
  readonly status: number;
  readonly cacheStatus: string;
  readonly body: string;
  readonly cors: string | undefined;
  readonly retryAfter: string | undefined;
}

function askOverTls(agent: Agent, port: number, path: string, key?: string) {
  const headers = { Host: 'ton.example', ...(key === undefined ? {} : { 'X-Api-Key': key }) };
  return new Promise<NginxAnswer>((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, headers, rejectUnauthorized: false }, (response) => {
      const { statusCode: status = 0, headers: got } = response;
      text(response).then((body) => {
        const cacheStatus = String(got['cache-status'] ?? '');
        resolve({
          status,
          cacheStatus,
          body,
          cors: got['access-control-allow-origin'],
          retryAfter: got['retry-after'],
        });
      }, reject);
    });
    sent.on('error', reject).end();
  });
}
