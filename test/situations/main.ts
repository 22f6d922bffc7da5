import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { textTable } from '../../src/operate/text-table.ts';
import { failed, notServed, rateLimited, redirected, refusedKey } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { asAdmin } from '../support/as-admin.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

// `npm run situations`: what an operator reads, and after how long, in each situation. `-- --alerts`: also the first
// alert of a Prometheus that is installed here (minutes for each). `-- --only <words>`: the situations with these words.

const RATE = 20;
const LINE_WITHIN_MS = 30_000;
const ALERT_WITHIN_MS = 10 * 60_000;

interface Scene {
  readonly indexers: readonly Indexer[];
  readonly redis: RedisServer;
}

/** What goes wrong, and the number of indexers. */
type Situation = readonly [cause: (scene: Scene) => unknown, indexers?: number];

const each = (
  fault: Parameters<Indexer['faults']['inject']>[0],
  operation?: 'pendingTraces' | 'adjacentTransactions',
) =>
  ((scene) => {
    for (const { faults } of scene.indexers) faults.inject(fault, operation === undefined ? {} : { operation });
  }) satisfies Situation[0];

const SITUATIONS: Readonly<Record<string, Situation>> = {
  'one operation 500': [each(failed(500), 'adjacentTransactions')],
  'quota by 429, 12 h': [each(rateLimited('json', '43200'))],
  'quota by 403': [each(refusedKey(403))],
  'maintenance, 503 + Retry-After': [each(failed(503, 'json', '600'))],
  'an operation is not served': [each(notServed('pendingTraces', 'no-redis'), 'pendingTraces')],
  'a redirect to a login': [each(redirected())],
  'one of two dead': [({ indexers: [first] }) => first?.close(), 2],
  'the indexer is down': [({ indexers: [only] }) => only?.close()],
  'one operation slow': [
    ({ indexers: [only] }) => only?.faults.inject({ kind: 'hang' }, { operation: 'adjacentTransactions' }),
  ],
  'the indexer is slow': [({ indexers: [only] }) => only && Object.assign(only.faults, { latencyMs: 3000 })],
  'restored, older': [
    ({ indexers: [only] }) =>
      only?.faults.inject({ kind: 'head', seqno: only.chain.headSeqno - 1250 }, { operation: 'masterchainInfo' }),
  ],
  'Redis gone': [({ redis }) => redis.kill()],
  'Redis read-only by mistake': [({ redis }) => asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1))],
  'Redis gone + indexer slow': [
    ({ redis, indexers: [only] }) => {
      if (only !== undefined) only.faults.latencyMs = 3000;
      return redis.kill();
    },
  ],
};

const { values } = parseArgs({ options: { alerts: { type: 'boolean' }, only: { type: 'string' } } });
const rows: string[][] = [];
for (const [name, situation] of Object.entries(SITUATIONS)) {
  if (values.only !== undefined && !name.includes(values.only)) continue;
  rows.push([name, ...(await drive(situation))]);
  console.log(rows.at(-1)?.join(' | '));
}
console.log(textTable(['Situation', 'First line', 'Seen after', 'Alert', 'Fires after'], rows));

/** Drives a situation: the first line and its delay, the first alert and its delay. */
async function drive([cause, count = 1]: Situation): Promise<string[]> {
  await using redis = await startRedis();
  const indexers = await Promise.all(Array.from({ length: count }, () => startIndexer()));
  const env = { UPSTREAM_URL: indexers.map(({ url }) => url).join(), REDIS_URL: redis.url };
  await using proxy = await ProxyProcess.start(env);
  const ending = new AbortController();
  const [chain] = indexers.map((indexer) => indexer.chain);
  const traffic = (async () => {
    for (let sent = 0; !ending.signal.aborted; sent++) {
      const hash = Buffer.from(`${sent}`.padEnd(32, '.')).toString('base64url');
      const targets = [
        `masterchainBlockShards?seqno=${(chain?.headSeqno ?? 0) - 5 - sent}`,
        `adjacentTransactions?hash=${hash}`,
        `pendingTraces?ext_msg_hash=${hash}`,
      ];
      ask(proxy.url, `/api/v3/${targets[sent % 3]}`).catch(() => {});
      await delay(1000 / RATE);
    }
  })();
  const prometheus = values.alerts === true ? await startPrometheus(proxy.adminUrl) : undefined;
  await delay(values.alerts === true ? 30_000 : 5000);
  await cause({ indexers, redis });
  const begunAt = performance.now();
  const seconds = () => `${((performance.now() - begunAt) / 1000).toFixed(0)} s`;
  const line = await until(LINE_WITHIN_MS, async () => {
    const { level, says } = JSON.parse((await ask(proxy.adminUrl, '/status.json')).text);
    return level === 'OK' ? undefined : String(says);
  });
  const told = [line ?? 'none', seconds()];
  const alert = prometheus && (await until(ALERT_WITHIN_MS, prometheus.firing));
  if (prometheus !== undefined) told.push(alert ?? 'none', seconds());
  ending.abort();
  await traffic;
  await prometheus?.end();
  await Promise.all(indexers.map((indexer) => indexer.close().catch(() => {})));
  return told;
}

async function until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = performance.now() + withinMs;
  for (; performance.now() < end; await delay(500)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A Prometheus with our alerts, which reads this instance. */
async function startPrometheus(adminUrl: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toncache-situations-'));
  const rules = fileURLToPath(new URL('../../config/prometheus/alerts.yml', import.meta.url));
  const { host } = new URL(adminUrl);
  const config = `global: { scrape_interval: 5s, evaluation_interval: 5s }
rule_files: [${rules}]
scrape_configs: [{ job_name: toncache, static_configs: [{ targets: ["${host}"] }] }]
`;
  await writeFile(join(folder, 'prometheus.yml'), config);
  const port = await freePort();
  const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const process = spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  return {
    firing: async (): Promise<string | undefined> => {
      const { text } = await ask(`http://127.0.0.1:${port}`, '/api/v1/alerts').catch(() => ({ text: '{}' }));
      const { data }: { data?: { alerts: { state: string; labels: { alertname: string } }[] } } = JSON.parse(text);
      return data?.alerts.find(({ state }) => state === 'firing')?.labels.alertname;
    },
    end: async () => {
      process.kill();
      await delay(500);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
