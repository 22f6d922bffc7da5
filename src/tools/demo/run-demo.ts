import { setTimeout as delay } from 'node:timers/promises';
import { describeRedisUrl } from '../../redis-url.ts';
import { Chain } from '../simulator/chain.ts';
import { startIndexer } from '../simulator/indexer.ts';
import { SeededRandom } from '../simulator/seeded-random.ts';
import { Crowd } from './crowd.ts';
import { curlLines, examplesOf, type FirstSteps, popularAccounts, showCoalescing, showHits } from './first-steps.ts';
import { startProxy } from './proxy-on-free-ports.ts';
import { Score } from './score.ts';
import { type CrowdCounts, Screen } from './screen.ts';

/** How a demo is run. */
export interface DemoOptions {
  /** The ports of the proxy; where one is in use, others that are free. */
  readonly port: number;
  readonly adminPort: number;
  readonly redisUrl: string | undefined;
  /** How long the crowd is at work, ms; `Infinity` for until the signal. */
  readonly forMs: number;
  /** Aborted to end the demo; its reason, a string, says what ended it. */
  readonly signal: AbortSignal;
  /** Where all is written. */
  readonly out: NodeJS.WritableStream;
}

/** What the parts of a running demo share. */
type Running = DemoOptions & FirstSteps;

const MOST_SHOWN = 10;

const BLOCK_MS = 400;
const PAST_BLOCKS = 150;
/** An hour of masterchain blocks: examples that people paste must stay available for long. */
const WINDOW_BLOCKS = 9000;
const LATENCY_MS = 20;

/**
 * Runs the demo to its end and leaves nothing behind; true when every answer was right. Rejects when it cannot start,
 * and for a bug in it.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { signal, port, adminPort, redisUrl } = options;
  const screen = new Screen(options.out);
  await using parts = new AsyncDisposableStack();
  const chain = new Chain({
    startAt: Date.now() - PAST_BLOCKS * BLOCK_MS,
    blockMs: BLOCK_MS,
    historyBlocks: WINDOW_BLOCKS,
  });
  const indexer = await startIndexer({ chain });
  parts.defer(() => indexer.close());
  Object.assign(indexer.faults, { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS });
  const proxy = await startProxy({ upstreamUrl: indexer.url, redisUrl, port, adminPort });
  parts.defer(() => proxy.app.close());
  const score = parts.use(
    new Score({
      chain: () => indexer.chain,
      onWrong: (answer, reason) => {
        if (score.wrong <= MOST_SHOWN) screen.wrong(answer, reason);
      },
    }),
  );

  const { publicUrl: proxyUrl, adminUrl } = proxy;
  const running = { ...options, screen, indexer, proxyUrl, score };
  screen.heading('toncache demo: a simulated TON indexer, the proxy in front of it, and a crowd of clients');
  const isElsewhere = port !== 0 && !proxyUrl.endsWith(`:${port}`);
  screen.table([
    ['status', `${adminUrl}/ (open it in a browser)`],
    ['proxy', `${proxyUrl}${isElsewhere ? `, as port ${port} or ${adminPort} is in use` : ''}`],
    ['metrics', `${adminUrl}/metrics`],
    ['indexer', `${indexer.url}, simulated, a block every ${BLOCK_MS} ms`],
    ['redis', redisUrl === undefined ? 'none: memory alone' : `REDIS_URL, ${describeRedisUrl(redisUrl)}`],
  ]);
  try {
    const examples = examplesOf(indexer.chain);
    await showHits(running, examples);
    await showCoalescing(running, indexer.chain.headSeqno - 1);
    screen.heading('Try it (-I shows the headers alone: leave it out for the answer itself)');
    for (const example of examples) screen.commands(example.title, curlLines(proxyUrl, example));
    await showCrowd(running);
  } catch (error) {
    // The crowd knows how to end; everything before it is just broken off.
    if (!signal.aborted) throw error;
  }
  return score.wrong === 0;
}

async function showCrowd(running: Running): Promise<void> {
  const { screen, signal, forMs, indexer, proxyUrl, score } = running;
  const how = Number.isFinite(forMs) ? `for ${forMs / 1000} s` : 'until Ctrl-C';
  screen.heading(`Wallets, scanners and explorers at work, every answer checked against the chain, ${how}`);
  // What the demo has asked by itself would flatter the hit ratio.
  const [answers, hits, upstream] = [score.answers, score.hits, indexer.requests.total];
  const counts = (): CrowdCounts => ({
    answers: score.answers - answers,
    hits: score.hits - hits,
    upstream: indexer.requests.total - upstream,
  });
  const crowd = new Crowd({
    proxyUrl,
    heard: score.add,
    chain: () => indexer.chain,
    popular: popularAccounts(indexer.chain),
    random: new SeededRandom('crowd', Date.now()),
  });
  try {
    await Promise.race([crowd.work, showSeconds(running, counts)]);
  } finally {
    await crowd[Symbol.asyncDispose]();
  }
  screen.summary(signal.aborted ? `by ${signal.reason}` : `after ${forMs / 1000} s`, counts(), score.wrong);
  screen.commands('Next: your own indexer, what it answers against what toncache answers, and how a request is read', [
    'UPSTREAM_URL=http://indexer:8081 npm start',
    'npm run verify -- http://indexer:8081/api/v3',
    `npm run toncache -- explain --offline '/api/v3/masterchainBlockShards?SEQNO=${indexer.chain.headSeqno}'`,
  ]);
}

async function showSeconds(running: Running, counts: () => CrowdCounts): Promise<void> {
  const { screen, signal, forMs } = running;
  const startedAt = performance.now();
  let before = counts();
  for (let second = 1; ; second++) {
    const untilMs = Math.min(second * 1000, forMs);
    await delay(startedAt + untilMs - performance.now(), undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const inAll = counts();
    screen.second(untilMs, before, inAll);
    before = inAll;
    if (untilMs >= forMs) return;
  }
}
