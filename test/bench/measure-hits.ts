import { launch } from './launch.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { sizedPath } from './sized-calls.ts';
import type { ToncacheProcess, Usage } from './toncache-process.ts';

/** One row of the hits' table. */
export interface Hits {
  readonly tier: 'memory' | 'redis';
  readonly sizeKb: number;
  readonly hitsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the whole server process, Redis itself not included. */
  readonly cpuMicrosPerHit: number;
}

const KEYS = 200;
const CONNECTIONS = 16;
const WARM_UP_SECONDS = 2;
const SECONDS = 5;

/** Fills the cache with answers of that size, and asks for them as fast as they come. Throws when they are no hits. */
export async function measureHits(server: ToncacheProcess, tier: Hits['tier'], sizeKb: number): Promise<Hits> {
  const paths = Array.from({ length: KEYS }, (_, number) => sizedPath(sizeKb, number));
  for (const path of paths) await (await fetch(server.url + path)).arrayBuffer();
  const order = { url: server.url, paths, connections: CONNECTIONS };
  await load({ ...order, seconds: WARM_UP_SECONDS });
  const before = await server.usage();
  const { requestsPerSecond, p50Ms, p99Ms } = await load({ ...order, seconds: SECONDS });
  const after = await server.usage();
  const hits = since(before, after, `hit-${tier}`);
  const all = [...after.requests.keys()].reduce((sum, outcome) => sum + since(before, after, outcome), 0);
  if (hits < 0.99 * all) throw new Error(`only ${hits} of ${all} answers were hits of the ${tier} tier`);
  const cpuMicrosPerHit = ((after.cpuSeconds - before.cpuSeconds) * 1e6) / all;
  return { tier, sizeKb, hitsPerSecond: requestsPerSecond, p50Ms, p99Ms, cpuMicrosPerHit };
}

async function load(order: LoadOrder): Promise<LoadResult> {
  await using generator = launch(new URL('./load.ts', import.meta.url), { args: [JSON.stringify(order)] });
  const result = await generator.next((line): LoadResult => line as LoadResult);
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  return result;
}

function since(before: Usage, after: Usage, outcome: string): number {
  return (after.requests.get(outcome) ?? 0) - (before.requests.get(outcome) ?? 0);
}
