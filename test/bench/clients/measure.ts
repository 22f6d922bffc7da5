import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request as exchange } from 'undici';
import type { Account } from '../../../src/tools/simulator/accounts.ts';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { CENSUS, type CensusRow, filled } from '../../clients/census.ts';
import { answerUnknown, valuesOf } from '../../clients/values.ts';
import { startRedis } from '../../support/redis-server.ts';
import { startToncache, type Toncache } from '../support/processes.ts';
import { type Mix, type Request, WAITING_EVERY_MS } from './mix.ts';

const BLOCK_MS = 400;
const LATENCY_MS = 20;
/** The average time between the transactions of an account, ms. */
const CHANGE_EVERY_MS = 120_000;
const PAST_BLOCKS = 1500;
/** The proof begins once it would have paid for 30 s. That of owners begins when the blocks of 32 s in a row are settled. */
const WARM_UP_MS = 70_000;
const TRACES = 100;

/** The settings and limits of docs/start/deployment.md#a-sidecar. */
const SIDECAR = {
  NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=8',
  MALLOC_ARENA_MAX: '2',
  CONFIG_FILE: 'config/sidecar.json',
};

/** Requests by operation: those of clients, and those at the indexer. */
export interface Counts {
  readonly asked: Map<string, number>;
  readonly atIndexer: Map<string, number>;
  /** Requests of toncache itself. */
  own: number;
  /** Failures by their status and the reason in `Cache-Status`, and whether they were counted or came before. */
  readonly failed: Map<string, number>;
  /** The largest resident memory that each toncache had, bytes. */
  residentBytes: readonly number[];
}

/** The forms in which only toncache itself sends requests. The head is read for clients, too, but by its own polls. */
const OWN = [
  /^masterchainInfo/,
  /^masterchainBlockShards\?/,
  /^blocks\?/,
  /^transactionsByMasterchainBlock\?.*limit=1000/,
  /^jetton\/wallets\?address=/,
  /^accountStates\?address=[^&]*&address=/,
];

/** A word for each request: its operation, and for a get-method its name. */
function wordFor(target: string, body: string): string {
  const operation = /^\/api\/v3\/([^?]*)/.exec(target)?.[1] ?? target;
  return operation === 'runGetMethod' ? `${operation} ${/"method":"(\w*)"/.exec(body)?.[1] ?? ''}` : operation;
}

export interface Measured {
  readonly settings: Readonly<Record<string, string>>;
  /** The time that is counted, after the warm-up. */
  readonly seconds: number;
  readonly mix: Mix;
  /** The number of sidecars, without Redis, among which the clients are divided; 0: instances with Redis. */
  readonly sidecars: number;
  /** The number of instances with one Redis: each client sends to them in turn. */
  readonly instances: number;
  /** The clients are played this many times over. */
  readonly times: number;
}

/** Plays all clients, and counts their requests. */
export async function measure(measured: Measured): Promise<Counts> {
  const { settings, seconds, mix, sidecars, times } = measured;
  await using all = new AsyncDisposableStack();
  const kinds = mix.kinds.map((kind) => ({ ...kind, count: kind.count * times }));
  const accounts = kinds.reduce((sum, { count, isShared }) => sum + (isShared ? 1 : count), 0);
  const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
  const idle = { count: 2 * accounts, everyMs: CHANGE_EVERY_MS };
  const never = Number.POSITIVE_INFINITY;
  const steady = { holdersCount: 2 * accounts, transferEveryMs: CHANGE_EVERY_MS, mintEveryMs: never };
  const jettons = { owners: 0, everyMs: never, steady };
  const chain = new Chain({ startAt, blockMs: BLOCK_MS, messagesPerBlock: 4, historyBlocks: 10_000, idle, jettons });
  chain.advanceTo(Date.now());
  const indexer = await startIndexer({ chain });
  all.defer(() => indexer.close());
  answerUnknown(indexer);
  Object.assign(indexer.faults, { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS });
  const ofKind = sidecars === 0 ? { REDIS_URL: all.use(await startRedis()).url } : SIDECAR;
  const instances: Toncache[] = [];
  // One after the other: the first one may have to be compiled.
  for (let nth = 0; nth < (sidecars || measured.instances); nth++)
    instances.push(all.use(await startToncache({ UPSTREAM_URL: indexer.url, ...ofKind, ...settings })));
  let turns = 0;
  const portInTurn = () => instances[turns++ % instances.length]?.port ?? 0;
  /** The port for each request of a client. */
  const portsOfClient = () => {
    const port = portInTurn();
    return sidecars > 0 ? () => port : portInTurn;
  };

  const counts: Counts = { asked: new Map(), atIndexer: new Map(), own: 0, failed: new Map(), residentBytes: [] };
  const dispatcher = new Agent();
  all.defer(() => dispatcher.destroy());
  const countedAt = Date.now() + WARM_UP_MS;
  const untilAt = countedAt + seconds * 1000;
  const isCounted = () => Date.now() >= countedAt && Date.now() < untilAt;
  const count = (counted: Map<string, number>, word: string) => {
    if (isCounted()) counted.set(word, (counted.get(word) ?? 0) + 1);
  };
  indexer.requests.on('request', ({ target, body }) => {
    const isOwn = OWN.some((form) => form.test(decodeURIComponent(target.slice('/api/v3/'.length))));
    if (!isOwn) count(counts.atIndexer, wordFor(target, body.toString()));
    else if (isCounted()) counts.own++;
  });

  const random = new SeededRandom('clients');
  type Words = Readonly<Record<string, string>>;
  const sendTo =
    (portOf: () => number) =>
    async (request: Request, words: Words): Promise<string> => {
      const { path, body }: CensusRow = CENSUS[request];
      const values = { NOW: String(Date.now()), ...words };
      const target = `/api/v3/${filled(path, values)}`;
      const headers = { 'Content-Type': 'application/json' };
      const sent = body === undefined ? '' : filled(body, values);
      const asking = body === undefined ? {} : { method: 'POST', headers, body: sent };
      count(counts.asked, wordFor(target, sent));
      const answer = await exchange(`http://127.0.0.1:${portOf()}${target}`, { ...asking, dispatcher });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) {
        const [, detail = ''] = /detail=([\w-]+)/.exec(String(answer.headers['cache-status'])) ?? [];
        const why = `${answer.statusCode} ${detail}${isCounted() ? '' : ' in the warm-up'}`;
        counts.failed.set(why, (counts.failed.get(why) ?? 0) + 1);
      }
      return text;
    };

  type Send = ReturnType<typeof sendTo>;
  type Polled = readonly [account: Account, other: Account];
  const poll = async (send: Send, request: Request, everySeconds: number, [account, other]: Polled): Promise<void> => {
    const everyMs = everySeconds * 1000;
    await delay(random.next() * everyMs);
    while (Date.now() < untilAt) {
      const nextAt = Date.now() + everyMs * (0.9 + 0.2 * random.next());
      await send(request, valuesOf(chain, account, other, random.int(0, TRACES)));
      await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
    }
  };

  /** Polls the head every second, and reads each new block. */
  const scan = async (send: Send): Promise<void> => {
    await delay(random.next() * 1000);
    for (let known = chain.headSeqno; Date.now() < untilAt; ) {
      const nextAt = Date.now() + 1000;
      // A refusal names no block.
      const { last }: { readonly last?: { readonly seqno: number } } = JSON.parse(await send('headOfChain', {}));
      const head = last?.seqno ?? known;
      for (let seqno = known + 1; seqno <= head; seqno++) await send('blockPage', { SEQNO: String(seqno) });
      known = Math.max(known, head);
      await delay(Math.max(0, Math.min(nextAt, untilAt) - Date.now()));
    }
  };

  /** Waits for a message until it is in a trace, then for the next one. */
  const wait = async (send: Send): Promise<void> => {
    await delay(random.next() * WAITING_EVERY_MS);
    for (let sent = chain.send(); Date.now() < untilAt; await delay(WAITING_EVERY_MS)) {
      const words = { EXTERNAL: encodeURIComponent(sent) };
      const listed = async (request: Request) => JSON.parse(await send(request, words)).traces?.length > 0;
      if (await listed('waitPending')) continue;
      const byHash = (['waitTransaction', 'waitTrace', 'waitMessage'] as const).map(listed);
      if ((await Promise.all(byHash)).includes(true)) sent = chain.send();
    }
  };

  const free = [...chain.idle.all];
  const take = () => {
    const [account, other] = free.splice(0, 2);
    if (account === undefined || other === undefined) throw new Error('too few accounts');
    return [account, other] as const;
  };
  const polling = kinds.flatMap(({ count: clients, polls, isShared }) => {
    const shared = isShared ? take() : undefined;
    return Array.from({ length: clients }, () => shared ?? take()).flatMap((polled) => {
      const send = sendTo(portsOfClient());
      return polls.map(([request, everySeconds]) => poll(send, request, everySeconds, polled));
    });
  });
  const others = [
    ...Array.from({ length: mix.scanners * times }, () => scan(sendTo(portsOfClient()))),
    ...Array.from({ length: mix.waiting * times }, () => wait(sendTo(portsOfClient()))),
  ];
  await Promise.all([...polling, ...others]);
  counts.residentBytes = await Promise.all(instances.map(mostResidentBytes));
  return counts;
}

async function mostResidentBytes({ pid }: Toncache): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
