import { Agent, get } from 'node:http';
import { sizedPath } from './sized-calls.ts';

/** One row of the misses' table. All medians. */
export interface Misses {
  readonly sizeKb: number;
  readonly directMs: number;
  readonly throughMs: number;
  readonly addedMs: number;
}

const PAIRS = 400;
const WARM_UP_PAIRS = 200;

/**
 * Asks the indexer itself and through toncache, by turns, for what nobody has asked for before. The indexer answers at
 * once, so that what toncache adds is not lost in what it varies by.
 */
export async function measureMisses(indexerUrl: string, toncacheUrl: string, sizeKb: number): Promise<Misses> {
  const agent = new Agent({ keepAlive: true });
  const [direct, through]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < WARM_UP_PAIRS + PAIRS; pair++) {
    const path = sizedPath(sizeKb, 1_000_000 + pair);
    const directMs = await timeOf(agent, indexerUrl + path);
    const throughMs = await timeOf(agent, toncacheUrl + path, 'fwd=miss');
    if (pair < WARM_UP_PAIRS) continue;
    direct.push(directMs);
    through.push(throughMs);
  }
  agent.destroy();
  const [directMs, throughMs] = [median(direct), median(through)];
  return { sizeKb, directMs, throughMs, addedMs: throughMs - directMs };
}

/** From asking to the last byte. Rejects when the answer is no 200, or its `Cache-Status` does not hold the text. */
function timeOf(agent: Agent, url: string, cacheStatus = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    get(url, { agent }, (response) => {
      const header = String(response.headers['cache-status'] ?? '');
      if (response.statusCode !== 200 || !header.includes(cacheStatus)) {
        reject(new Error(`status ${response.statusCode}, ${header}`));
      }
      response.on('end', () => resolve(performance.now() - startedAt)).on('error', reject);
      response.resume();
    }).on('error', reject);
  });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
