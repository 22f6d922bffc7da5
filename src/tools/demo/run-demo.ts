import { setTimeout as delay } from 'node:timers/promises';
import { type App, createApp, type Listening } from '../../app.ts';
import { loadSettings } from '../../config/load.ts';
import { createLogger } from '../../operate/logger.ts';
import { describeRedisUrl } from '../../redis/redis-url.ts';
import { CACHED_ALWAYS, FURTHER, OPERATION_NAMES } from '../../ton/operation-names.ts';
import { Chain } from '../simulator/chain.ts';
import { startIndexer } from '../simulator/indexer.ts';
import { SeededRandom } from '../simulator/seeded-random.ts';
import { targetOf } from './client.ts';
import { runCrowd } from './crowd.ts';
import { type Example, examplesOf, type FirstSteps, popularAccounts, showCoalescing, showHits } from './first-steps.ts';
import { Score } from './score.ts';
import { Screen } from './screen.ts';

export interface DemoOptions {
  /** The ports of the proxy; if one is in use, free ones. */
  readonly port: number;
  readonly adminPort: number;
  readonly redisUrl: string | undefined;
  /** The duration of the crowd, ms; `Infinity` for until the signal. */
  readonly forMs: number;
  /** Aborted to end the demo; its reason, a string, names the cause. */
  readonly signal: AbortSignal;
  readonly out: NodeJS.WritableStream;
}

const BLOCK_MS = 400;
const PAST_BLOCKS = 150;
/** An hour of masterchain blocks: pasted examples must stay available for long. */
const WINDOW_BLOCKS = 9000;

/** Runs the demo to its end; true if every answer was right. Rejects if it cannot start, and for a bug. */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { signal, port, adminPort, redisUrl } = options;
  const screen = new Screen(options.out);
  await using parts = new AsyncDisposableStack();
  const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
  const chain = new Chain({ startAt, blockMs: BLOCK_MS, historyBlocks: WINDOW_BLOCKS });
  const indexer = await startIndexer({ chain });
  parts.defer(() => indexer.close());
  Object.assign(indexer.faults, { latencyMs: 20, jitterMs: 20 });
  const { app, publicUrl: proxyUrl, adminUrl } = await startProxy(indexer.url, options);
  parts.defer(() => app.close());
  const score = new Score(indexer, screen);

  screen.heading('toncache demo: a simulated TON indexer, the proxy in front of it, and a crowd of clients');
  const isElsewhere = port !== 0 && !proxyUrl.endsWith(`:${port}`);
  screen.table({
    status: `${adminUrl}/ (open it in a browser)`,
    proxy: `${proxyUrl}${isElsewhere ? `, as port ${port} or ${adminPort} is in use` : ''}`,
    metrics: `${adminUrl}/metrics`,
    indexer: `${indexer.url}, simulated, a block every ${BLOCK_MS} ms`,
    cached: 'the three operations that always are, and all further ones (CACHE_OPERATIONS=all)',
    redis: redisUrl === undefined ? 'none: memory alone' : `REDIS_URL, ${describeRedisUrl(redisUrl)}`,
  });
  const steps = { screen, signal, indexer, proxyUrl, score };
  try {
    const examples = examplesOf(indexer.chain);
    await showHits(steps, examples);
    await showCoalescing(steps, indexer.chain.headSeqno - 1);
    screen.heading('Try it (-I shows the headers alone: leave it out for the body)');
    // No value contains a single quote in any spelling.
    const commandsOf = ({ call, spellings }: Example) =>
      spellings.map((spelling) => `curl -I '${proxyUrl}${targetOf(call, spelling)}'`);
    for (const [title, example] of Object.entries(examples.always)) screen.commands(title, commandsOf(example));
    screen.commands('Further operations', examples.further.flatMap(commandsOf));
    await showCrowd(steps, options.forMs);
  } catch (error) {
    // The signal ends the crowd without an error, but interrupts everything before it.
    if (!signal.aborted) throw error;
  }
  return score.wrong === 0;
}

/** Starts the proxy in this process, with only its errors logged. If one of its ports is in use, it takes free ones. */
async function startProxy(upstreamUrl: string, options: DemoOptions): Promise<Listening & { readonly app: App }> {
  const { settings } = loadSettings({
    UPSTREAM_URL: upstreamUrl,
    REDIS_URL: options.redisUrl,
    CACHE_OPERATIONS: 'all',
    // Two demos on one Redis have two chains: their keys must differ.
    NETWORK: `demo-${Date.now().toString(36)}-${process.pid}`,
    PORT: String(options.port),
    ADMIN_PORT: String(options.adminPort),
  });
  const app = await createApp({ logger: createLogger('error', process.stderr) }, settings);
  try {
    return { app, ...(await app.listen()) };
  } catch (error) {
    await app.close();
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken || options.port === 0) throw error;
    return await startProxy(upstreamUrl, { ...options, port: 0, adminPort: 0 });
  }
}

async function showCrowd({ screen, signal, indexer, proxyUrl, score }: FirstSteps, forMs: number): Promise<void> {
  const how = Number.isFinite(forMs) ? `for ${forMs / 1000} s` : 'until Ctrl-C';
  screen.heading(
    `Wallets, scanners, followers and explorers at work, every response checked against the chain, ${how}`,
  );
  // The demo's own requests would improve the hit ratio.
  const begun = {
    all: score.counts(OPERATION_NAMES),
    always: score.counts(CACHED_ALWAYS),
    further: score.counts(FURTHER),
  };
  const showSeconds = async () => {
    const startedAt = performance.now();
    let before = begun.all;
    for (let untilMs = 0; untilMs < forMs; ) {
      untilMs = Math.min(untilMs + 1000, forMs);
      await delay(startedAt + untilMs - performance.now(), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      screen.second(untilMs, score.counts(OPERATION_NAMES, before), score.counts(OPERATION_NAMES, begun.all));
      before = score.counts(OPERATION_NAMES);
    }
  };
  const leaving = new AbortController();
  const crowd = runCrowd({
    proxyUrl,
    signal: leaving.signal,
    heard: score.add,
    chain: () => indexer.chain,
    popular: popularAccounts(indexer.chain),
    random: new SeededRandom('crowd', Date.now()),
  });
  try {
    await Promise.race([crowd, showSeconds()]);
  } finally {
    leaving.abort();
  }
  const groups = {
    'the three': score.counts(CACHED_ALWAYS, begun.always),
    'further ones': score.counts(FURTHER, begun.further),
  };
  screen.summary(signal.aborted ? `by ${signal.reason}` : `after ${forMs / 1000} s`, groups, score.wrong);
  screen.commands(
    'Next: use your own indexer, compare its responses with those of toncache, and see how a request is read',
    [
      'UPSTREAM_URL=http://indexer:8081 CACHE_OPERATIONS=all,passthrough PASSTHROUGH=on npm start',
      'npm run toncache -- verify http://indexer:8081/api/v3',
      `npm run toncache -- explain '/api/v3/masterchainBlockShards?SEQNO=${indexer.chain.headSeqno}'`,
    ],
  );
}
