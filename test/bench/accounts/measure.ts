import { setTimeout as delay } from 'node:timers/promises';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { type Indexer, startIndexer } from '../../../src/tools/simulator/indexer.ts';
import { startRedis } from '../../support/redis-server.ts';
import { Connections } from '../support/connections.ts';
import { startToncache } from '../support/processes.ts';
import { accountPolls } from './account-polls.ts';
import type { Case } from './cases.ts';
import { ownerPolls } from './owner-polls.ts';
import type { Poll } from './poll.ts';
import { scan } from './scan.ts';

const BLOCK_MS = 400;
const LATENCY_MS = 20;
/** The average time between the transactions of an account, ms. */
const CHANGE_EVERY_MS = 120_000;
/** Blocks before the start: every account has some transactions by then. */
const PAST_BLOCKS = 1500;
/** The proof begins once it would have paid for 30 s. That of owners begins when the blocks of 32 s in a row are settled. */
const WARM_UP_MS = 80_000;

/** The counts after the warm-up. */
export interface Measured {
  readonly polls: number;
  /** Requests at the indexer: all, requests about accounts, and requests that follow the chain. */
  readonly total: number;
  readonly aboutAccounts: number;
  readonly heads: number;
  readonly blocks: number;
  readonly pages: number;
  /** Requests for the owners of the accounts in blocks. */
  readonly lookUps: number;
  readonly proven: number;
  /** Answers that lacked a commit which was more than a second old when the request was sent. */
  readonly lacking: number;
  /** The greatest age of such a commit. */
  readonly latestMs: number;
  readonly refused: number;
}

/** Runs the clients of a case for this long. */
export async function measure(one: Case, seconds: number): Promise<Measured> {
  await using all = new AsyncDisposableStack();
  const redis = all.use(await startRedis());
  const idle = { count: one.accounts, everyMs: CHANGE_EVERY_MS };
  const jettons = { owners: one.owners, everyMs: CHANGE_EVERY_MS, others: [one.otherRows] };
  const startAt = Date.now() - PAST_BLOCKS * BLOCK_MS;
  const chain = new Chain({
    startAt,
    blockMs: BLOCK_MS,
    messagesPerBlock: one.messagesPerBlock,
    historyBlocks: 10_000,
    idle,
    jettons,
  });
  chain.advanceTo(Date.now());
  const indexer = await startIndexer({ chain });
  all.defer(() => indexer.close());
  Object.assign(indexer.faults, { latencyMs: LATENCY_MS, jitterMs: LATENCY_MS });
  const settings = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, ...one.settings };
  const starting = Array.from({ length: one.instances }, async () => all.use(await startToncache(settings)));
  const connections = (await Promise.all(starting)).map(({ port }) => new Connections(port));
  all.defer(() => {
    for (const each of connections) each.close();
  });
  const countedAt = Date.now() + WARM_UP_MS;
  const untilAt = countedAt + seconds * 1000;
  const polled = [...accountPolls(chain, one), ...ownerPolls(chain, indexer.dialect, one)];
  const clients = [
    ...polled.map((poll) => poll.run(connections, { countedAt, untilAt })),
    ...Array.from({ length: one.scanners }, (_, place) =>
      scan(connections[place % one.instances], one.scannersAsk, place, untilAt),
    ),
  ];
  await delay(countedAt - Date.now());
  let lookUps = 0;
  indexer.requests.on('request', ({ target }) => {
    if (isLookUp(target)) lookUps++;
  });
  const before = countsOf(indexer);
  await Promise.all(clients);
  const after = countsOf(indexer);
  const grown = (what: keyof typeof after) => after[what] - before[what];
  const sum = (what: keyof Pick<Poll, 'polls' | 'proven' | 'lacking' | 'refused'>) =>
    polled.reduce((total, each) => total + each[what], 0);
  return {
    total: grown('total'),
    aboutAccounts: grown('aboutAccounts') - lookUps,
    heads: grown('heads'),
    blocks: grown('blocks'),
    pages: grown('pages'),
    lookUps,
    polls: sum('polls'),
    proven: sum('proven'),
    lacking: sum('lacking'),
    refused: sum('refused'),
    latestMs: Math.max(0, ...polled.map(({ latestMs }) => latestMs)),
  };
}

/** True for a request that no client here sends: the wallets of given addresses, or the states of accounts. */
function isLookUp(target: string): boolean {
  return target.startsWith('/api/v3/accountStates') || /^\/api\/v3\/jetton\/wallets\?(?!.*owner_address)/.test(target);
}

const ABOUT_ACCOUNTS = [
  'transactions',
  'addressInformation',
  'accountStates',
  'jetton/wallets',
  'jetton/transfers',
] as const;

function countsOf({ requests }: Indexer) {
  return {
    total: requests.total,
    aboutAccounts: ABOUT_ACCOUNTS.reduce((sum, operation) => sum + requests.count(operation), 0),
    heads: requests.count('masterchainInfo'),
    blocks: requests.count('masterchainBlockShards') + requests.count('blocks'),
    pages: requests.count('transactionsByMasterchainBlock'),
  };
}
