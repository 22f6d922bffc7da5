import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { textTable } from '../../src/operate/text-table.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { ask } from '../support/http-client.ts';
import { COMMAND_OF_DEV, ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { startPrometheus } from './prometheus.ts';
import { type Scene, SITUATIONS, type Situation } from './situations.ts';
import { Traffic } from './traffic.ts';

// `npm run situations`: what an operator reads, and after how long, in each situation, and how many requests fail at
// each instance meanwhile. `-- --alerts`: also the first alert of a Prometheus that is installed here, for at most
// `--minutes`, and its arrival at an Alertmanager, if that is installed. `-- --only <words>`: the situations with one of
// these, by comma. `-- --toncache <checkout>`, given once for each: compares versions, each in a scene of its own at the
// same time. `-- --together 4`: drives four situations at a time.

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
const ALERTS = ['Alert', 'Fires after', 'In Alertmanager', 'Arrived after'];
const heads = ['Situation', 'Version', 'First line', 'Seen after', 'Failed', ...(values.alerts ? ALERTS : [])];
console.log(textTable(heads, rows));
process.exit();

/** Drives a situation with one version: the first line and its delay, failed requests, the first alert and its delay. */
async function drive(name: string, checkout: string): Promise<string[]> {
  const situation: Situation = SITUATIONS[name] ?? { cause: () => {} };
  const { cause, around, also, indexers: count = 1, instances = 1, settings = {} } = situation;
  const { historyMs = 24_000, withinSeconds = 30 } = situation;
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-situations-')));
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify(settings));
  const now = () => Date.now() + scene.aheadMs;
  const addInstance = async (more = {}) => {
    const program = { ...COMMAND_OF_DEV, cwd: checkout };
    scene.instances.push(stack.use(await ProxyProcess.start({ ...env, ...more }, 3_600_000, program)));
  };
  const redis = stack.use(await startRedis());
  const scene: Scene = {
    indexers: [],
    redis,
    instances: [],
    addInstance,
    folder,
    stack,
    aheadMs: 0,
    crawler: undefined,
  };
  const indexers = await Promise.all(
    Array.from({ length: count }, () => startIndexer({ now, chain: new Chain({ startAt: now() - historyMs }) })),
  );
  stack.defer(() => Promise.all(indexers.map((indexer) => indexer.close().catch(() => {}))).then(() => {}));
  scene.indexers = indexers;
  const usual = { UPSTREAM_URL: indexers.map(({ url }) => url).join(), REDIS_URL: redis.url, CONFIG_FILE: file };
  const env = { ...usual, ...(await around?.(scene)) };
  for (let instance = 0; instance < instances; instance++) await addInstance();
  const adminUrl = scene.instances[0]?.adminUrl ?? '';
  const traffic = new Traffic(scene);
  stack.defer(() => traffic.end());
  const prometheus = values.alerts ? await startPrometheus(adminUrl, checkout, stack) : undefined;
  await delay(values.alerts ? 30_000 : 8000);
  const line = async () => firstLine((await ask(adminUrl, '/status.json')).text);
  // Another line would hide that of the cause: Redis is slow at the start if this machine is busy.
  await until(60_000, async () => (await line()).says === undefined || undefined);
  traffic.counts.clear();
  await cause(scene);
  const begunAt = performance.now();
  const seconds = () => `${((performance.now() - begunAt) / 1000).toFixed(0)} s`;
  let noted: string[] | undefined;
  const seen = await until(1000 * withinSeconds, async () => {
    const { isNote, says } = await line();
    if (isNote && says !== undefined) noted ??= [says, seconds()];
    return isNote ? undefined : says;
  });
  const [says = '', after = ''] = seen === undefined && noted ? noted : [seen ?? 'none', seconds()];
  const told = [basename(checkout), also ? `${says} (${also(scene)})` : says, after];
  if (prometheus === undefined) return [...told, traffic.failed];
  const alert = await until(60_000 * Number(values.minutes), prometheus.firing);
  told.push(traffic.failed, alert ?? 'none', seconds());
  const { received } = prometheus;
  if (received === undefined) return [...told, 'no Alertmanager is installed', ''];
  const labels = alert && (await until(60_000, () => received(alert)));
  return [...told, labels ?? 'none', seconds()];
}

/** The first line of the page, once it is not as usual, or a note. Versions before the conditions had a verdict. */
function firstLine(status: string): { readonly isNote: boolean; readonly says: string | undefined } {
  const { level, says, conditions = [], verdict } = JSON.parse(status);
  if (verdict !== undefined)
    return { isNote: false, says: verdict.level === 'serving' ? undefined : `${verdict.level}: ${verdict.cause}` };
  return level === 'OK' ? { isNote: true, says: conditions[0]?.says } : { isNote: false, says };
}

async function until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = performance.now() + withinMs;
  for (; performance.now() < end; await delay(500)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  return undefined;
}
