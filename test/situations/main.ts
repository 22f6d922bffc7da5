import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { textTable } from '../../src/operate/text-table.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { ask } from '../support/http-client.ts';
import { COMMAND_OF_DEV, ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { startPrometheus } from './prometheus.ts';
import { type Scene, SITUATIONS } from './situations.ts';

// `npm run situations`: what an operator reads, and after how long, in each situation. `-- --alerts`: also the first
// alert of a Prometheus that is installed here, for at most `--minutes`. `-- --only <words>`: the situations with one of
// these, by comma. `-- --toncache <checkout>`, given once for each: compares versions, each in a scene of its own at the
// same time. `-- --together 4`: so many situations at a time.

const RATE = 20;
const CRAWLER_EVERY_MS = 40;

const { values } = parseArgs({
  options: {
    alerts: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    together: { type: 'string', default: '1' },
    toncache: { type: 'string', multiple: true, default: [fileURLToPath(new URL('../..', import.meta.url))] },
  },
});
const checkouts = values.toncache.map((folder) => resolve(folder));
const rows: string[][] = [];
const names = Object.keys(SITUATIONS).filter((name) => values.only.split(',').some((words) => name.includes(words)));
const waiting = [...names];
await Promise.all(
  Array.from({ length: Number(values.together) }, async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const situation = name;
      const told = await Promise.all(checkouts.map(async (checkout) => [situation, ...(await drive(name, checkout))]));
      for (const row of told) console.log(row.join(' | '));
      rows.push(...told);
    }
  }),
);
rows.sort(([a = ''], [b = '']) => names.indexOf(a) - names.indexOf(b));
console.log(textTable(['Situation', 'Version', 'First line', 'Seen after', 'Alert', 'Fires after'], rows));
process.exit();

/** Drives a situation with one version: the first line and its delay, the first alert and its delay. */
async function drive(name: string, checkout: string): Promise<string[]> {
  const { cause, indexers: count = 1, settings = {}, withinSeconds = 30 } = SITUATIONS[name] ?? { cause: () => {} };
  await using redis = await startRedis();
  const scene: Scene = { indexers: [], redis, aheadMs: 0, crawler: undefined };
  const now = () => Date.now() + scene.aheadMs;
  const indexers = await Promise.all(Array.from({ length: count }, () => startIndexer({ now })));
  scene.indexers = indexers;
  await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-situations-'));
  const file = join(folder.path, 'config.json');
  await writeFile(file, JSON.stringify(settings));
  const env = { UPSTREAM_URL: indexers.map(({ url }) => url).join(), REDIS_URL: redis.url, CONFIG_FILE: file };
  const program = { ...COMMAND_OF_DEV, cwd: checkout };
  await using proxy = await ProxyProcess.start(env, 3_600_000, program);
  const ending = new AbortController();
  const traffic = sendRequests(proxy.url, scene, ending.signal);
  const prometheus = values.alerts ? await startPrometheus(proxy.adminUrl, checkout) : undefined;
  await delay(values.alerts ? 30_000 : 8000);
  await cause(scene);
  const begunAt = performance.now();
  const seconds = () => `${((performance.now() - begunAt) / 1000).toFixed(0)} s`;
  let noted: string[] | undefined;
  const line = await until(1000 * withinSeconds, async () => {
    const { isNote, says } = firstLine((await ask(proxy.adminUrl, '/status.json')).text);
    if (isNote && says !== undefined) noted ??= [says, seconds()];
    return isNote ? undefined : says;
  });
  const told = [basename(checkout), ...(line === undefined && noted ? noted : [line ?? 'none', seconds()])];
  const alert = prometheus && (await until(60_000 * Number(values.minutes), prometheus.firing));
  if (prometheus !== undefined) told.push(alert ?? 'none', seconds());
  ending.abort();
  await traffic;
  await prometheus?.end();
  await Promise.all(indexers.map((indexer) => indexer.close().catch(() => {})));
  return told;
}

/** The first line of the page, once it is not as usual, or a note. Versions before the conditions had a verdict. */
function firstLine(status: string): { readonly isNote: boolean; readonly says: string | undefined } {
  const { level, says, conditions = [], verdict } = JSON.parse(status);
  if (verdict !== undefined)
    return { isNote: false, says: verdict.level === 'serving' ? undefined : `${verdict.level}: ${verdict.cause}` };
  return level === 'OK' ? { isNote: true, says: conditions[0]?.says } : { isNote: false, says };
}

async function sendRequests(url: string, scene: Scene, ending: AbortSignal): Promise<void> {
  let sent = 0;
  const send = (client: string) => {
    const hash = Buffer.from(`${sent++}`.padEnd(32, '.')).toString('base64url');
    const targets = [
      `masterchainBlockShards?seqno=${(scene.indexers[0]?.chain.headSeqno ?? 0) - 5 - (sent % 40)}`,
      `adjacentTransactions?hash=${hash}`,
      `pendingTraces?ext_msg_hash=${hash}`,
    ];
    ask(url, `/api/v3/${targets[sent % 3]}`, { headers: { 'X-Forwarded-For': client } }).catch(() => {});
  };
  const crawling = setInterval(() => scene.crawler && send(scene.crawler), CRAWLER_EVERY_MS);
  for (let turn = 0; !ending.aborted; turn++) {
    send(`10.0.${turn % 100}.1`);
    await delay(1000 / RATE);
  }
  clearInterval(crawling);
}

async function until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = performance.now() + withinMs;
  for (; performance.now() < end; await delay(500)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  return undefined;
}
