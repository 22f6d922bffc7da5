import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '../../../src/tools/simulator/accounts.ts';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { CENSUS, type CensusRow, filled } from '../../clients/census.ts';
import { answerUnknown, valuesOf } from '../../clients/values.ts';
import { ask } from '../../support/http-client.ts';
import { startRedis } from '../../support/redis-server.ts';
import { startToncache } from '../support/processes.ts';
import { KINDS, type Request, SCANNERS } from './mix.ts';

const BLOCK_MS = 400;
const LATENCY_MS = 20;
/** The average time between the transactions of an account, ms. */
const CHANGE_EVERY_MS = 120_000;
const PAST_BLOCKS = 1500;
/** The proof begins once it would have paid for 30 s. */
const WARM_UP_MS = 42_000;
const TRACES = 100;

/** Requests by operation: those of clients, and those at the indexer, the follower's included. */
export interface Counts {
  readonly asked: Map<string, number>;
  readonly atIndexer: Map<string, number>;
  refused: number;
}

/** Plays all clients, and counts for this long after the warm-up. */
export async function measure(settings: Readonly<Record<string, string>>, seconds: number): Promise<Counts> {
  await using all = new AsyncDisposableStack();
  const redis = all.use(await startRedis());
  const accounts = KINDS.reduce((sum, { count, isShared }) => sum + (isShared ? 1 : count), 0);
  const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
  const idle = { count: 2 * accounts, everyMs: CHANGE_EVERY_MS };
  const chain = new Chain({ startAt, blockMs: BLOCK_MS, messagesPerBlock: 4, historyBlocks: 10_000, idle });
  chain.advanceTo(Date.now());
  const indexer = await startIndexer({ chain });
  all.defer(() => indexer.close());
  answerUnknown(indexer);
  Object.assign(indexer.faults, { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS });
  const { port } = all.use(await startToncache({ UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, ...settings }));

  const counts: Counts = { asked: new Map(), atIndexer: new Map(), refused: 0 };
  const countedAt = Date.now() + WARM_UP_MS;
  const untilAt = countedAt + seconds * 1000;
  const count = (counted: Map<string, number>, target: string) => {
    const operation = /^\/api\/v3\/([^?]*)/.exec(target)?.[1] ?? target;
    if (Date.now() >= countedAt && Date.now() < untilAt) counted.set(operation, (counted.get(operation) ?? 0) + 1);
  };
  indexer.requests.on('request', ({ target }) => count(counts.atIndexer, target));

  const random = new SeededRandom('clients');
  const send = async (request: Request, words: Readonly<Record<string, string>>): Promise<string> => {
    const { path, body }: CensusRow = CENSUS[request];
    const values = { NOW: String(Date.now()), ...words };
    const target = `/api/v3/${filled(path, values)}`;
    const headers = { 'Content-Type': 'application/json' };
    const asking = body === undefined ? {} : { method: 'POST', headers, body: filled(body, values) };
    count(counts.asked, target);
    const { status, text } = await ask(`http://127.0.0.1:${port}`, target, asking);
    if (status !== 200) counts.refused++;
    return text;
  };

  const poll = async (request: Request, everySeconds: number, account: Account, other: Account): Promise<void> => {
    const everyMs = everySeconds * 1000;
    await delay(random.next() * everyMs);
    while (Date.now() < untilAt) {
      const nextAt = Date.now() + everyMs * (0.9 + 0.2 * random.next());
      await send(request, valuesOf(chain, account, other, random.int(0, TRACES)));
      await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
    }
  };

  /** Polls the head every second, and reads each new block. */
  const scan = async (): Promise<void> => {
    await delay(random.next() * 1000);
    for (let known = chain.headSeqno; Date.now() < untilAt; ) {
      const nextAt = Date.now() + 1000;
      const { last }: { readonly last: { readonly seqno: number } } = JSON.parse(await send('headOfChain', {}));
      for (let seqno = known + 1; seqno <= last.seqno; seqno++) await send('blockPage', { SEQNO: String(seqno) });
      known = Math.max(known, last.seqno);
      await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
    }
  };

  const free = [...chain.idle.all];
  const take = () => {
    const [account, other] = free.splice(0, 2);
    if (account === undefined || other === undefined) throw new Error('too few accounts');
    return [account, other] as const;
  };
  const polling = KINDS.flatMap(({ count: clients, polls, isShared }) => {
    const shared = isShared ? take() : undefined;
    return Array.from({ length: clients }, () => shared ?? take()).flatMap(([account, other]) =>
      polls.map(([request, everySeconds]) => poll(request, everySeconds, account, other)),
    );
  });
  await Promise.all([...polling, ...Array.from({ length: SCANNERS }, scan)]);
  return counts;
}
