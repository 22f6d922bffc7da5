import { setTimeout as delay } from 'node:timers/promises';
import type { Indexer } from '../simulator/indexer.ts';
import { SeededRandom } from '../simulator/seeded-random.ts';
import { BLOCK_MS, simulateIndexer } from '../simulator/simulate-indexer.ts';
import { chooseRedis } from './choose-redis.ts';
import { Client, type HeardAnswer, targetOf } from './client.ts';
import { Crowd } from './crowd.ts';
import { curlLines, type Examples, examplesOf, firstCalls, popularAccounts } from './examples.ts';
import { Score } from './score.ts';
import type { Counts, Screen } from './screen.ts';
import { startProxy } from './start-proxy.ts';

/** How a demo is run. */
export interface DemoOptions {
  /** The ports of the proxy; where one is in use, the next free one. */
  readonly port: number;
  readonly adminPort: number;
  readonly redisUrl: string | undefined;
  /** Where a `redis-server` is looked for, in the form of PATH. */
  readonly searchPath: string;
  /** How long the crowd is at work, ms; `Infinity` for until the signal. */
  readonly forMs: number;
  /** Aborted to end the demo; its reason, a string, says what ended it. */
  readonly signal: AbortSignal;
  readonly screen: Screen;
}

/** What the steps of a running demo share. */
interface Running extends DemoOptions {
  readonly indexer: Indexer;
  readonly proxyUrl: string;
  readonly score: Score;
  readonly examples: Examples;
}

const NEW_EXAMPLES_SECONDS = 20 * 60;
const MOST_SHOWN = 10;

/**
 * Runs the demo to its end and leaves nothing behind; true when every answer was right. Rejects when it cannot start,
 * and for a bug in it.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { screen, signal, port, adminPort } = options;
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await chooseRedis(options.redisUrl, options.searchPath));
  const indexer = await simulateIndexer();
  parts.defer(() => indexer.close());
  // Two demos on one Redis have two chains: their keys must differ.
  const network = `demo-${Date.now().toString(36)}-${process.pid}`;
  const proxy = await startProxy({ upstreamUrl: indexer.url, redisUrl: redis.url, network, port, adminPort });
  parts.defer(() => proxy.app.close());
  const score = parts.use(
    new Score({
      chain: () => indexer.chain,
      onWrong: (wrong) => {
        if (score.wrong <= MOST_SHOWN) screen.wrong(wrong);
      },
    }),
  );

  const { publicUrl: proxyUrl, adminUrl } = proxy;
  const running = { ...options, indexer, proxyUrl, score, examples: examplesOf(indexer.chain) };
  screen.heading('toncache demo: a simulated TON indexer, the proxy in front of it, and a crowd of clients');
  const isElsewhere = port !== 0 && !proxyUrl.endsWith(`:${port}`);
  screen.table([
    ['proxy', `${proxyUrl}${isElsewhere ? `, as port ${port} is in use` : ''}`],
    ['metrics', `${adminUrl}/metrics`],
    ['indexer', `${indexer.url}, simulated, a block every ${BLOCK_MS} ms`],
    ['redis', redis.description],
  ]);
  try {
    await showFirstCalls(running);
    showCurlLines(running, running.examples);
    await showCrowd(running);
  } catch (error) {
    // The crowd knows how to end; everything before it is just broken off.
    if (!signal.aborted) throw error;
  }
  return score.wrong === 0;
}

async function showFirstCalls({ screen, signal, indexer, proxyUrl, score, examples }: Running): Promise<void> {
  screen.heading('Each asked twice, then in another spelling');
  // Loads what Node needs to ask: its time would look like the proxy's.
  await fetch(proxyUrl, { signal });
  const heard = (answer: HeardAnswer) => {
    screen.answer(answer);
    return score.add(answer);
  };
  await untilPending(indexer, examples, signal);
  for (const { call, spelling, other } of firstCalls(examples)) {
    const client = new Client({ name: 'the demo itself', spelling, proxyUrl, signal, heard });
    screen.request(targetOf(call, spelling));
    await client.ask(call);
    await client.ask(call);
    screen.request(targetOf(call, other));
    await new Client({ name: 'the demo itself', spelling: other, proxyUrl, signal, heard }).ask(call);
  }
}

/** Something has to be under way at the account that is shown. */
async function untilPending(indexer: Indexer, { account }: Examples, signal: AbortSignal): Promise<void> {
  const { chain } = indexer;
  const trace = chain.trace(chain.send(account));
  await delay(Math.max(0, (trace?.emulatedAt ?? 0) - chain.now), undefined, { signal });
}

function showCurlLines({ screen, proxyUrl }: Running, examples: Examples): void {
  screen.heading('Try it (-I shows the headers alone: leave it out for the answer itself)');
  for (const [title, lines] of curlLines(proxyUrl, examples)) screen.commands(title, lines);
}

async function showCrowd(running: Running): Promise<void> {
  const { screen, signal, forMs, indexer, proxyUrl, score } = running;
  const how = Number.isFinite(forMs) ? `for ${forMs / 1000} s` : 'until Ctrl-C';
  screen.heading(`Wallets, scanners and explorers at work, every answer checked against the chain, ${how}`);
  const counts = (): Counts => ({ answers: score.answers, hits: score.hits, upstream: indexer.requests.total });
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
  screen.summary(signal.aborted ? `by ${signal.reason}` : `after ${forMs / 1000} s`, counts(), score);
}

async function showSeconds(running: Running, counts: () => Counts): Promise<void> {
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
    if (second % NEW_EXAMPLES_SECONDS === 0) showCurlLines(running, examplesOf(running.indexer.chain));
  }
}
