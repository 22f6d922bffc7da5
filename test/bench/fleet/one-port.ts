import { createServer } from 'node:net';
import { launch } from '../launch.ts';
import type { LoadOrder, LoadResult } from '../load.ts';
import { markdownTable } from '../markdown-table.ts';
import { sizedPath } from '../sized-calls.ts';
import { startToncache, type ToncacheProcess } from '../toncache-process.ts';

/** What processes that share one port came to together. */
interface Shared {
  readonly processes: number;
  readonly hitsPerSecond: number;
  readonly cpuMicrosPerHit: number;
  /** The share of the requests that the least busy process answered. */
  readonly leastShare: number;
}

const SIZE_KB = 2;
const KEYS = 200;
/** Of two processes each gets about half of so many. */
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const SECONDS = 4;

/** Measures hits of 1 and of 2 processes on one port (`REUSE_PORT`); resolves with a table. */
export async function measureOnePort(upstreamUrl: string, redisUrl: string): Promise<string> {
  const all: Shared[] = [];
  for (const processes of [1, 2])
    all.push(await measure(processes, { UPSTREAM_URL: upstreamUrl, REDIS_URL: redisUrl }));
  const rows = all.map(({ processes, hitsPerSecond, cpuMicrosPerHit, leastShare }) => [
    String(processes),
    String(Math.round(hitsPerSecond)),
    cpuMicrosPerHit.toFixed(1),
    `${Math.round(leastShare * 100)} %`,
  ]);
  return markdownTable(['Processes on one port', 'hits a second', 'CPU µs a hit', 'of the least busy one'], rows);
}

async function measure(processes: number, settings: Readonly<Record<string, string>>): Promise<Shared> {
  const PORT = String(await freePort());
  await using fleet = new AsyncDisposableStack();
  const servers: ToncacheProcess[] = [];
  for (let i = 0; i < processes; i++) {
    servers.push(fleet.use(await startToncache({ ...settings, PORT, REUSE_PORT: 'on' })));
  }
  const order = {
    url: `http://127.0.0.1:${PORT}`,
    paths: Array.from({ length: KEYS }, (_, number) => sizedPath(SIZE_KB, number)),
    connections: CONNECTIONS,
  };
  for (const path of order.paths) await (await fetch(order.url + path)).arrayBuffer();
  await load({ ...order, seconds: WARM_UP_SECONDS });
  const before = await usageOf(servers);
  const { requestsPerSecond } = await load({ ...order, seconds: SECONDS });
  const used = (await usageOf(servers)).map(({ cpuSeconds, requests }, i) => ({
    cpuSeconds: cpuSeconds - (before[i]?.cpuSeconds ?? 0),
    requests: requests - (before[i]?.requests ?? 0),
  }));
  const requests = used.reduce((sum, each) => sum + each.requests, 0);
  const cpuSeconds = used.reduce((sum, each) => sum + each.cpuSeconds, 0);
  return {
    processes,
    hitsPerSecond: requestsPerSecond,
    cpuMicrosPerHit: (cpuSeconds * 1e6) / requests,
    leastShare: Math.min(...used.map((each) => each.requests)) / requests,
  };
}

async function usageOf(servers: readonly ToncacheProcess[]): Promise<{ cpuSeconds: number; requests: number }[]> {
  const usages = await Promise.all(servers.map((server) => server.usage()));
  return usages.map(({ cpuSeconds, requests }) => ({
    cpuSeconds,
    requests: [...requests.values()].reduce((sum, count) => sum + count, 0),
  }));
}

async function load(order: LoadOrder): Promise<LoadResult> {
  await using generator = launch(new URL('../load.ts', import.meta.url), { args: [JSON.stringify(order)] });
  const result = await generator.next((line): LoadResult => line as LoadResult);
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  return result;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => void server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no port is free');
  return address.port;
}
