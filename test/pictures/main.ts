import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { failed, rateLimited } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { debianProgram } from '../support/apt.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

// `npm run pictures`: takes docs/status.png, the top of the page down to the flow. `--all <folder>`: the page in each state, at
// each width, light and dark; `--only <words>`: the states with one of these, by comma. Eight minutes.

const WIDTHS = [390, 1280, 1920];
/** Of docs/status.png, which is shown in README.md among its first commands. */
const MAX_HEIGHT = 560;
const HISTORY_MS = 120_000;
const SETTLE_MS = 12_000;
/** After an outage the page is OK again. */
const AFTER_MS = 90_000;
/** Requests a second. */
const RATE = 60;

interface Scene extends AsyncDisposable {
  readonly proxy: RunningProxy;
  readonly indexers: readonly Indexer[];
  readonly redis: RedisServer;
  /** Requests a second. */
  rate: number;
}

/** From this instant on a chain that stands still is told. */
const STILL_MS = 150_000;

/** The cause of each state, before the picture is taken. `idle` and `never-answered`: before the first answer. */
const STATES: Readonly<Record<string, (scene: Scene) => Promise<void> | void>> = {
  idle: () => {},
  'never-answered': () => {},
  load: () => {},
  overload: (scene) => {
    for (const { faults } of scene.indexers) faults.workers = { count: 5, serviceMs: 100 };
    scene.rate = 400;
  },
  // Few keys: its circuit breaker stays closed.
  'operation-down': ({ indexers }) => {
    for (const { faults } of indexers) faults.inject(failed(500), { operation: 'pendingTraces' });
  },
  // Of two, so that no client notices.
  'one-failing': ({ indexers: [first] }) => void first?.faults.inject(failed(500)),
  'indexer-down': ({ indexers }) => {
    for (const { faults } of indexers) faults.inject(failed(500));
  },
  'redis-down': ({ redis }) => redis[Symbol.asyncDispose](),
  'rate-limited': ({ indexers }) => {
    for (const { faults } of indexers) faults.inject(rateLimited('json', '1'));
  },
  slow: ({ indexers }) => {
    for (const { faults } of indexers) faults.latencyMs = 3000;
  },
  'two-down': async ({ indexers }) => {
    for (const indexer of indexers) await indexer.close();
  },
  'down-then-hanging': async ({ indexers: [first, second] }) => {
    await first?.close();
    second?.faults.inject({ kind: 'hang' });
  },
  'chain-still': async ({ indexers }) => {
    for (const { replicas } of indexers) replicas[0].lag(Number.POSITIVE_INFINITY);
    await delay(STILL_MS);
  },
  // Ten minutes later: what happened.
  'after-an-outage': async ({ indexers }) => {
    const faults = indexers.map((indexer) => indexer.faults.inject(failed(500)));
    await delay(SETTLE_MS);
    for (const fault of faults) fault.remove();
    await delay(AFTER_MS);
  },
  gone: ({ proxy }) => proxy.close(),
};

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const { values } = parseArgs({ options: { all: { type: 'string' }, only: { type: 'string', default: '' } } });
const executablePath = await debianProgram('chromium', 'chromium');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  if (values.all === undefined) await take(browser, 'load', [1280], () => 'docs/status.png', true);
  else {
    const folder = values.all;
    for (const state of Object.keys(STATES).filter((each) =>
      values.only.split(',').some((word) => each.includes(word)),
    )) {
      await take(browser, state, WIDTHS, (width, scheme) => join(folder, `${state}-${width}-${scheme}.png`));
    }
  }
} finally {
  await browser.close();
}

async function take(
  from: Browser,
  state: string,
  widths: readonly number[],
  file: (width: number, scheme: string) => string,
  isTop = false,
): Promise<void> {
  await using scene = await openScene(state === 'idle' ? 0 : RATE, state === 'never-answered');
  const page = await from.newPage();
  await page.goto(scene.proxy.adminUrl);
  await delay(SETTLE_MS);
  // A busy machine makes Redis slow at the start.
  if (state === 'load') await page.locator('.ok #verdict').waitFor();
  else {
    await STATES[state]?.(scene);
    await delay(SETTLE_MS);
  }
  await page.fill('#target', `masterchainBlockShards?seqno=${scene.indexers[0]?.chain.headSeqno}&_=1`);
  await page.getByRole('button', { name: 'Explain' }).first().click();
  for (const width of widths) {
    for (const scheme of widths.length === 1 ? (['light'] as const) : (['light', 'dark'] as const)) {
      await shoot(page, width, scheme, file(width, scheme), isTop);
    }
  }
  await page.close();
}

async function shoot(
  page: Page,
  width: number,
  colorScheme: 'light' | 'dark',
  path: string,
  isTop: boolean,
): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme });
  await delay(500);
  await page.evaluate('scrollTo(0, 0)');
  const flow = await page.locator('#saved').boundingBox();
  const height = Math.ceil((flow?.y ?? 0) + (flow?.height ?? 0)) + 8;
  if (isTop && height > MAX_HEIGHT) throw new Error(`${path} would be ${height} pixels high; accepted: ${MAX_HEIGHT}`);
  await page.screenshot({ path, fullPage: true, ...(isTop && { clip: { x: 0, y: 0, width, height } }) });
}

/** Two indexers, Redis and a load of misses and hits. */
async function openScene(rate: number, isFailing: boolean): Promise<Scene> {
  const startAt = Date.now() - HISTORY_MS;
  const indexers = await Promise.all([1, 2].map(() => startIndexer({ chain: new Chain({ startAt }) })));
  for (const { faults } of indexers) {
    [faults.latencyMs, faults.jitterMs] = [20, 30];
    if (isFailing) faults.inject(failed(500));
  }
  const redis = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'] });
  const upstreamUrl = indexers.map(({ url }) => url).join();
  const proxy = await startProxy({ upstreamUrl, env: { REDIS_URL: redis.url }, random: Math.random });
  const ended = new AbortController();
  const scene: Scene = {
    proxy,
    indexers,
    redis,
    rate,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await proxy.close();
      await Promise.all([redis[Symbol.asyncDispose](), ...indexers.map((indexer) => indexer.close().catch(() => {}))]);
    },
  };
  if (rate > 0) void load(scene, ended.signal);
  return scene;
}

async function load(scene: Scene, signal: AbortSignal): Promise<void> {
  const [{ chain }] = scene.indexers as [Indexer];
  for (let asked = 0; !signal.aborted; asked++) {
    const seqno = chain.headSeqno - (asked % 7);
    const limit = asked % 3 === 0 ? 100 + (asked % 900) : 100;
    const target =
      asked % 10 === 9
        ? `pendingTraces?account=0:${String(asked % 7).padStart(64, '0')}`
        : `masterchainBlockShards?seqno=${seqno}&limit=${limit}`;
    scene.proxy.ask(`/api/v3/${target}`).catch(() => {});
    await delay(1000 / scene.rate);
  }
}
