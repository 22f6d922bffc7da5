import { setTimeout as delay } from 'node:timers/promises';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { startRedis } from '../../support/redis-server.ts';
import { Connections } from '../support/connections.ts';
import { startToncache } from '../support/processes.ts';
import { markdownTable, quantilesOf } from '../support/report.ts';

const SCANNERS = 20;
const INSTANCES = 3;
const BLOCK_MS = 400;
const LATENCY_MS = 20;
const WARM_UP_MS = 6000;
/** Nearly every block has rows for both pages. */
const [PAGES, PAGE_ROWS, MESSAGES_PER_BLOCK] = [2, 5, 8];
/** Alternates between the scanners. */
const POLLS_MS = [1000, 5000];

/** The requests at the indexer, and when the first page of each block was first answered. */
interface Measured {
  readonly pages: number;
  readonly blocks: number;
  readonly heads: number;
  readonly delaysMs: readonly number[];
}

/**
 * Scanners that poll the head and read two pages of each new block, on three instances with one Redis in front of one
 * indexer: passed through, and cached. Returns a table.
 */
export async function measureScanners(seconds: number): Promise<string> {
  const rows: string[][] = [];
  for (const [name, env] of [
    ['passed through', { PASSTHROUGH: 'on' }],
    ['cached', { CACHE_OPERATIONS: 'all' }],
  ] as const) {
    const { pages, blocks, heads, delaysMs } = await measure(seconds, env);
    const quantile = quantilesOf(delaysMs);
    rows.push([
      name,
      (pages / blocks / PAGES).toFixed(2),
      (heads / seconds).toFixed(1),
      `${quantile(0.5)}, ${quantile(0.95)}`,
    ]);
  }
  const head = ['20 scanners', 'requests for a page of a block', 'masterchainInfo a second', 'first page p50, p95 ms'];
  return markdownTable(head, rows);
}

async function measure(seconds: number, env: Readonly<Record<string, string>>): Promise<Measured> {
  await using all = new AsyncDisposableStack();
  const redis = all.use(await startRedis());
  const chain = new Chain({ startAt: Date.now() - 100 * BLOCK_MS, seed: 13, messagesPerBlock: MESSAGES_PER_BLOCK });
  const indexer = await startIndexer({ chain });
  all.defer(() => indexer.close());
  Object.assign(indexer.faults, { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS });
  const settings = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, ...env };
  const starting = Array.from({ length: INSTANCES }, async () => all.use(await startToncache(settings)));
  const instances = await Promise.all(starting);
  const connections = instances.map(({ port }) => new Connections(port));
  all.defer(() => {
    for (const each of connections) each.close();
  });
  const countedAt = Date.now() + WARM_UP_MS;
  const untilAt = countedAt + seconds * 1000;
  const firstAt = new Map<number, number>();
  const scanners = Array.from({ length: SCANNERS }, async (_, place) => {
    const everyMs = POLLS_MS[place % POLLS_MS.length] ?? 0;
    await delay((everyMs * place) / SCANNERS);
    await scan(connections[place % INSTANCES] as Connections, everyMs, untilAt, firstAt);
  });
  await delay(countedAt - Date.now());
  const counts = () => [
    indexer.requests.count('transactionsByMasterchainBlock'),
    indexer.requests.count('masterchainInfo'),
  ];
  const [pagesBefore = 0, headsBefore = 0] = counts();
  await Promise.all(scanners);
  const [pages = 0, heads = 0] = counts();
  const counted = [...firstAt].filter(([seqno]) => chain.clock.committedAt(seqno) >= countedAt);
  return {
    pages: pages - pagesBefore,
    blocks: (seconds * 1000) / BLOCK_MS,
    heads: heads - headsBefore,
    delaysMs: counted.map(([seqno, at]) => at - chain.clock.committedAt(seqno)),
  };
}

async function scan(connections: Connections, everyMs: number, untilAt: number, firstAt: Map<number, number>) {
  for (let known = 0; Date.now() < untilAt; ) {
    const nextAt = Date.now() + everyMs;
    const { body } = await connections.ask('/api/v3/masterchainInfo');
    const head: number = JSON.parse(body).last.seqno;
    for (let seqno = known === 0 ? head : known + 1; seqno <= head; seqno++) {
      for (let page = 0; page < PAGES; page++) {
        const query = `seqno=${seqno}&limit=${PAGE_ROWS}&offset=${page * PAGE_ROWS}`;
        const { status } = await connections.ask(`/api/v3/transactionsByMasterchainBlock?${query}`);
        if (status === 200 && !firstAt.has(seqno)) firstAt.set(seqno, Date.now());
      }
    }
    known = Math.max(known, head);
    await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
  }
}
