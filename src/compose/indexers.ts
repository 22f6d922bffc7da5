import { Admission } from '../admission/admission.ts';
import { Backlog } from '../admission/backlog.ts';
import { MemoryPressure } from '../admission/memory-pressure.ts';
import { Slots } from '../admission/slots.ts';
import { AnswerBodyReader } from '../answer/answer-body-reader.ts';
import { FollowedChain } from '../chain/followed-chain.ts';
import { KnownChain } from '../chain/known-chain.ts';
import { Heads } from '../fleet/heads.ts';
import { Health } from '../fleet/health.ts';
import { type FleetRoute, Routes } from '../fleet/routes.ts';
import type { RedisScripting } from '../redis/connect.ts';
import type { Ms } from '../time-units.ts';
import { GLOBAL_IDS } from '../ton/chain-point.ts';
import { blocks } from '../ton/operations/blocks.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { masterchainInfo } from '../ton/operations/masterchain-info.ts';
import { transactionsByMasterchainBlock } from '../ton/operations/transactions-by-masterchain-block.ts';
import type { AppContext } from './context.ts';
import { headEveryMs, type IndexerSettings, type OpenIndexer, openIndexer } from './indexer.ts';

/** While requests are sent, the heads of several indexers are asked for as often as this: seldom where each counts. */
const [HEADS_EVERY_MS, HEADS_EVERY_MS_OF_FEW]: [Ms, Ms] = [500, 2000];

/** Below this rate, in requests a second, each counts. */
const FEW_PER_SECOND = 40;

/** How long a request may wait for a slot while others are being refused: the backlog drains, and latency falls. */
const OVERLOADED_PATIENCE_MS = 100;

/** Who follows the blocks has this many requests under way at each indexer, and as many again may wait. */
const [FOLLOWER_SLOTS, FOLLOWER_WAITING] = [2, 2];

/** The operations that it asks. */
const FOLLOWED = [masterchainInfo, blocks, masterchainBlockShards, transactionsByMasterchainBlock];

/** The way to the indexers. */
export type OpenIndexers = ReturnType<typeof openIndexers>;

export interface OpenIndexersDependencies {
  /** Runs the scripts by which instances share the rate limit; absent without Redis. */
  readonly scripting: RedisScripting | undefined;
  /** How many instances there are on one Redis, this one among them. */
  readonly instances: () => number;
  /** Frees memory; called while the process is nearly out of it. */
  readonly makeRoom: () => void;
}

/** Builds the clients and their admissions; nothing connects before the first request. */
export function openIndexers(context: AppContext, { scripting, instances, makeRoom }: OpenIndexersDependencies) {
  const { settings, events, monotonic, random } = context;
  const { upstream, admission, passThrough } = settings;
  const memory = new MemoryPressure({
    now: monotonic,
    makeRoom,
    maxMemory: admission.maxMemoryShare,
    maxReadingBytes: upstream.maxBufferedSize,
  });
  const { onReading } = memory;
  const answerBodies = new AnswerBodyReader({
    onBug: events.reportBug,
    onReading,
    isWatching: settings.stream.url !== undefined,
  });
  // A request may spend half of its timeout in the backlog; the other half is for the indexer's answer.
  const patienceMs = Math.min(admission.patience, upstream.timeout / 2);
  const followed = new FollowedChain(GLOBAL_IDS[settings.network]);
  const indexers = indexersOf(context).map((indexer) =>
    openIndexer(context, { scripting, onReading, isOurChain: followed.isOurs, instances }, indexer),
  );
  const chain = new KnownChain({ heads: indexers.map(({ head }) => head), chain: followed, now: context.now });
  const replicas = indexers.filter(({ route }) => !route.isBackup);
  const heads = replicas.length > 1 ? openHeads(context, instances, replicas) : undefined;
  // What clients make of the rest of the API says nothing about the operations: it has slots and health of its own.
  const passThroughRoute = (route: FleetRoute): FleetRoute => ({
    ...route,
    slots: new Slots({ now: monotonic, max: passThrough.maxConcurrency, shares: {}, patienceMs }),
    health: route.health && new Health({ now: monotonic, onTransition: () => {} }),
  });
  const all = indexers.map(({ route }) => ({
    ...route,
    isBehind: () => route.isBehind?.() === true || heads?.isBehind(route.index) === true,
    newestBlock: () => (heads?.isContradicted(route.index) === true ? -1 : (route.newestBlock?.() ?? -1)),
  }));
  const toNewest = context.operations.all.filter(({ routedTo }) => routedTo === 'newest').map(({ name }) => name);
  const routes = new Routes(random, all, { passThrough: all.map(passThroughRoute) }, new Set(toNewest));
  const patience = { patienceMs, shortPatienceMs: Math.min(OVERLOADED_PATIENCE_MS, patienceMs) };
  const backlog = new Backlog({
    now: monotonic,
    routes,
    ...patience,
    maxWaiting: admission.maxQueue,
  });
  // Who follows the blocks waits for no client. What it asks opens no circuit breaker of theirs; pauses are kept.
  const ofFollower = new Routes(
    random,
    all.map((route) => ({
      ...route,
      slots: new Slots({ now: monotonic, max: FOLLOWER_SLOTS, shares: {}, patienceMs }),
      rate: undefined,
      guards: new Map(FOLLOWED.map(({ name }) => [name, route.guards.get('passThrough') ?? []])),
    })),
    {},
    new Set(toNewest),
  );
  return {
    /** In the order of the settings, backups last. */
    all: indexers,
    /** Absent where there are no two replicas. */
    heads,
    /** How far the chain is known to be. */
    chain,
    /** To be called when a request is sent: asks all but backups for their heads in the background, if it is time. */
    pollHeads: (): void => (heads === undefined ? replicas[0]?.head.pollIfDue() : heads.askIfDue()),
    /** For the three operations and for pass-through. */
    admission: new Admission({ memory, routes, backlog }),
    /** For who follows the blocks: slots of its own, and no rate. */
    followerAdmission: new Admission({
      memory,
      routes: ofFollower,
      backlog: new Backlog({ now: monotonic, routes: ofFollower, ...patience, maxWaiting: FOLLOWER_WAITING }),
    }),
    answerBodies,
    memory,
    /** To be called when the clock has jumped: then no instant before it means anything. */
    forget: (): void => {
      for (const { head } of indexers) head.forget();
      chain.forget();
    },
    /**
     * Asks all but backups for their heads and for the blocks that they name: the log says which cannot be asked, and
     * which have no blocks. Takes up to 3 s longer than their answers. Never rejects.
     */
    checkHeads: async (): Promise<void> => void (await Promise.all(replicas.map(({ head }) => head.check()))),
    /** Resolves when the heads of several replicas are known, after 1 s at the latest: so none answers from the past. */
    ready: async (): Promise<void> => heads?.ask(),
    /** Closes all connections; requests under way fail. */
    close: async (): Promise<void> => {
      await Promise.all(indexers.map(({ client }) => client.close()));
      await answerBodies.close();
    },
  };
}

function indexersOf({ settings: { upstream } }: AppContext): IndexerSettings[] {
  const { url, apiKey, maxConcurrency, requestsPerSecond, backup } = upstream;
  const all = [
    ...url.map((each) => ({ url: each, apiKey, maxConcurrency, requestsPerSecond, isBackup: false })),
    ...(backup.url ?? []).map((each) => ({ ...backup, url: each, isBackup: true })),
  ];
  return all.map((indexer, index) => ({ ...indexer, index, isOne: all.length === 1 }));
}

function openHeads(
  { settings, events, monotonic }: AppContext,
  instances: () => number,
  replicas: readonly OpenIndexer[],
): Heads {
  const { maxLag, requestsPerSecond } = settings.upstream;
  const shortestMs = (requestsPerSecond ?? FEW_PER_SECOND) < FEW_PER_SECOND ? HEADS_EVERY_MS_OF_FEW : HEADS_EVERY_MS;
  return new Heads({
    heads: replicas.map(({ head }) => head),
    now: monotonic,
    onBehind: (index, isBehind) => {
      const state = isBehind ? 'behind' : 'caught-up';
      events.report({ name: 'indexer-state', indexer: replicas[index]?.name ?? '', state });
    },
    onShorterHistory: (index, first) =>
      events.report({ name: 'shorter-history', indexer: replicas[index]?.name ?? '', first }),
    askEveryMs: () => headEveryMs(shortestMs, requestsPerSecond, instances()),
    maxLag,
  });
}
