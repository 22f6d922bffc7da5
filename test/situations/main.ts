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
import { judged, Looks } from './ending.ts';
import { startPrometheus } from './prometheus.ts';
import { repair, type Scene, type Situation } from './scene.ts';
import { SITUATIONS } from './situations.ts';
import { Traffic } from './traffic.ts';

// `npm run situations`: what an operator reads, and after how long, in each situation, and how many requests fail at
// each instance meanwhile. `-- --alerts`: also the first alert of a Prometheus that is installed here, for at most
// `--minutes`, and its arrival at an Alertmanager, if that is installed. `-- --only <words>`: the situations with one of
// these, by comma. `-- --toncache <checkout>`, given once for each: compares versions, each in a scene of its own at the
// same time. `-- --together 4`: drives four situations at a time. `-- --end`: also the repair, after `--fault` seconds: the
// seconds until the line is right, and until it is OK, with what clients got; exits with 1 if the page said something untrue.

const { values } = parseArgs({
  options: {
    alerts: { type: 'boolean', default: false },
    end: { type: 'boolean', default: false },
    fault: { type: 'string', default: '25' },
    minutes: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    together: { type: 'string', default: '1' },
    toncache: { type: 'string', multiple: true, default: [fileURLToPath(new URL('../..', import.meta.url))] },
  },
});
const checkouts = values.toncache.map((folder) => resolve(folder));
const rows: string[][] = [];
let isUntrue = false;
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
const UNTIL_SEEN = ['Situation', 'Version', 'First line', 'Seen after', 'Failed', ...(values.alerts ? ALERTS : [])];
const UNTIL_OK = ['Situation', 'Version', 'First line', 'Right after', 'OK after', 'Failed', 'Is it true'];
console.log(textTable(values.end ? UNTIL_OK : UNTIL_SEEN, rows));
process.exit(isUntrue ? 1 : 0);

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
    timers: new Set(),
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
  const traffic = new Traffic(scene, situation);
  stack.defer(() => traffic.end());
  const prometheus = values.alerts ? await startPrometheus(adminUrl, checkout, stack) : undefined;
  await delay(values.alerts ? 30_000 : 8000);
  const line = async () => firstLine((await ask(adminUrl, '/status.json')).text);
  // Another line would hide that of the cause: Redis is slow at the start if this machine is busy.
  await until(60_000, async () => (await line()).says === undefined || undefined);
  traffic.requests.length = 0;
  if (values.end) return [basename(checkout), ...(await driveToEnd(situation, scene, traffic))];
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

/** Breaks and repairs: the first line, its delay, that of OK after the repair, failed requests, and whether all was true. */
async function driveToEnd(situation: Situation, scene: Scene, traffic: Traffic): Promise<string[]> {
  const { cause, end, withinSeconds = 0 } = situation;
  const looks = new Looks(scene.instances[0]?.adminUrl ?? '');
  const brokenAt = performance.now();
  await cause(scene);
  await delay(1000 * Math.max(Number(values.fault), withinSeconds));
  const repairedAt = performance.now();
  if (end !== 'none') {
    await repair(scene);
    await end?.(scene);
    await looks.until(({ level }) => level === 'OK', 150_000);
    // It may be OK too early, and fail once more.
    await delay(5000);
  }
  looks.end();
  // The page is that of the first instance.
  const [told] = scene.instances;
  const requests = traffic.requests.filter(({ instance }) => instance === told);
  const { says, rightAfterMs, okAfterMs, wrong, isWrong } = judged({
    situation,
    looks: looks.all,
    requests,
    brokenAt,
    repairedAt,
  });
  isUntrue ||= isWrong;
  const seconds = (ms: number | undefined) => (ms === undefined ? '-' : `${(ms / 1000).toFixed(0)} s`);
  return [says, seconds(rightAfterMs), seconds(okAfterMs), traffic.failed, wrong];
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
