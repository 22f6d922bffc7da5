import { expect, it } from 'vitest';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import type { Trace } from '../../src/tools/simulator/trace.ts';
import { startProxy } from '../support/start-proxy.ts';

const BLOCK_MS = 400;
const LAG_MS = 6000;
const POLLS = 40;
const MOST_SCREENS = 100;

/** Two replicas behind one address, of which the second one lags; each connection has one of them. The test moves the time. */
async function start() {
  let now = Date.now();
  const options = { startAt: now - 60_000, blockMs: BLOCK_MS, delayedShare: 0.5, listsUnderWay: true };
  const indexer = await startIndexer({
    chain: new Chain(options),
    replicaChains: [new Chain(options)],
    now: () => now,
  });
  for (const { chain } of indexer.replicas) void chain;
  indexer.faults.balances = 'connections';
  indexer.replicas[1]?.lag(LAG_MS);
  const proxy = await startProxy({
    upstreamUrl: indexer.url,
    env: { CACHE_OPERATIONS: 'all' },
    now: () => now,
    random: Math.random,
  });
  return {
    indexer,
    proxy,
    advance: (ms: number) => {
      now += ms;
    },
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      await indexer.close();
    },
  };
}

/** The contents of a screen: final transactions, and the newest block. */
function shownIn(status: number, text: string): ReadonlySet<string> {
  const { transactions = [], traces = [], last } = status === 200 ? JSON.parse(text) : {};
  const rows: { readonly hash: string; readonly emulated: boolean }[] = [
    ...transactions,
    ...traces.flatMap((trace: { transactions: object }) => Object.values(trace.transactions)),
  ];
  const blocks = Array.from({ length: (last?.seqno ?? 0) % 1000 }, (_, seqno) => `block ${seqno}`);
  return new Set([...blocks, ...rows.filter(({ emulated }) => !emulated).map(({ hash }) => hash)]);
}

function screensOf({ id, externalHash }: Trace): readonly string[] {
  return [
    `traces?trace_id=${encodeURIComponent(id)}`,
    `transactionsByMessage?msg_hash=${encodeURIComponent(externalHash)}`,
    `adjacentTransactions?hash=${encodeURIComponent(id)}`,
  ];
}

it.each([400, 1000, 3500])('nothing disappears from a screen that is polled every %i ms', async (pollMs) => {
  await using world = await start();
  const { indexer, proxy } = world;
  const shownOn = new Map<string, ReadonlySet<string>>([['masterchainInfo', new Set()]]);
  const disappeared: string[] = [];
  const poll = async (target: string, before: ReadonlySet<string>) => {
    const { status, text, headers } = await proxy.ask(`/api/v3/${target}`);
    const shown = shownIn(status, text);
    if (!before.isSubsetOf(shown)) disappeared.push(`${target} ${headers['cache-status']}`);
    shownOn.set(target, shown);
  };
  for (let polls = 0; polls < POLLS; polls++) {
    world.advance(pollMs);
    for (const target of indexer.chain.recentTraces(8).flatMap(screensOf)) {
      if (shownOn.size < MOST_SCREENS && !shownOn.has(target)) shownOn.set(target, new Set());
    }
    await Promise.all([...shownOn].map(([target, before]) => poll(target, before)));
  }
  expect(disappeared).toEqual([]);
  expect([...shownOn.values()].filter(({ size }) => size > 0).length).toBeGreaterThan(MOST_SCREENS / 2);
  expect(await proxy.metric('answersRegressed')).toBeGreaterThan(0);
  expect(await proxy.metric('olderAnswers')).toBe(0);
});
