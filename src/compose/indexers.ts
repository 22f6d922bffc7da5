import { setTimeout as delay } from 'node:timers/promises';
import { Admission } from '../admission/admission.ts';
import type { RouteRequest } from '../admission/guard.ts';
import { MemoryPressure } from '../admission/memory-pressure.ts';
import { Slots } from '../admission/slots.ts';
import { AnswerBodyReader } from '../answer/answer-body-reader.ts';
import { Heads } from '../fleet/heads.ts';
import { Health } from '../fleet/health.ts';
import { KnownChain } from '../fleet/known-chain.ts';
import { type FleetRoute, Routes } from '../fleet/routes.ts';
import { FollowedChain } from '../indexer/followed-chain.ts';
import type { Ms } from '../time-units.ts';
import { GLOBAL_IDS } from '../ton/chain-point.ts';
import type { Operation } from '../ton/operations.ts';
import type { AppContext } from './context.ts';
import { headEveryMs, type OpenIndexer, type OpenIndexersDependencies, openIndexer } from './indexer.ts';
import { addIndexerGauges } from './indexer-gauges.ts';
import { indexersIn } from './indexers-in.ts';

/** While requests are sent, the heads of several indexers are polled this often: less often if each request counts. */
const [HEADS_EVERY_MS, HEADS_EVERY_MS_OF_FEW]: [Ms, Ms] = [500, 2000];

/** Below this rate, in requests a second, each request counts. */
const FEW_PER_SECOND = 40;

/** The start waits this long for the heads of the indexers. */
const READY_MS: Ms = 1000;

/** The patience of a request while others are being refused: the backlog drains, and latency falls. */
const OVERLOADED_PATIENCE_MS = 100;

export type OpenIndexers = ReturnType<typeof openIndexers>;

/** Builds the clients and their admissions; nothing connects before the first request. */
export function openIndexers(context: AppContext, { scripting, instances }: OpenIndexersDependencies) {
  const { settings, constants, operations, events, metrics, monotonic, random } = context;
  const { upstream, admission, passThrough } = settings;
  const memory = new MemoryPressure({
    now: monotonic,
    maxMemory: admission.maxMemoryShare,
    maxReadingBytes: upstream.maxBufferedSize,
  });
  const { onReading } = memory;
  const answerBodies = new AnswerBodyReader({ onBug: events.reportBug, onReading });
  // A request may spend half of its timeout in the backlog; the other half is for the indexer's answer.
  const patienceMs = Math.min(admission.patience, upstream.timeout / 2);
  const followed = new FollowedChain(GLOBAL_IDS[settings.network]);
  const indexers = indexersIn(settings).map((indexer) =>
    openIndexer(context, { scripting, instances, onReading, isOurChain: followed.isOurs, patienceMs }, indexer),
  );
  const chain = new KnownChain(
    indexers.map(({ head }) => head),
    context.now,
  );
  const replicas = indexers.filter(({ route }) => !route.isBackup);
  const heads = replicas.length > 1 ? openHeads(context, instances, replicas) : undefined;
  for (const indexer of indexers) addIndexerGauges(context, indexer, heads);
  // Clients' requests to the rest of the API show nothing about the operations: it has its own slots and health.
  const passThroughRoute = (route: FleetRoute): FleetRoute => ({
    ...route,
    slots: new Slots({ now: monotonic, max: passThrough.maxConcurrency, shares: {}, patienceMs }),
    health: route.health && new Health(monotonic, () => {}),
  });
  const all = indexers.map(({ route }) => ({
    ...route,
    isBehind: () => route.isBehind?.() === true || heads?.isBehind(route.index) === true,
  }));
  const toNewest = context.operations.all.filter(({ routedTo }) => routedTo === 'newest').map(({ name }) => name);
  const routes = new Routes(random, all, { passthrough: all.map(passThroughRoute) }, new Set(toNewest));
  const shortPatienceMs = Math.min(OVERLOADED_PATIENCE_MS, patienceMs);
  const shared = { memory, now: monotonic, patienceMs, shortPatienceMs };
  const ofClients = new Admission({ ...shared, routes, maxWaiting: constants.admission.maxQueue });
  metrics.gauge('upstream_requests_in_flight', 'Requests in flight at all indexers.', () => ofClients.inFlight);
  metrics.gauge(
    'upstream_concurrency_limit',
    'Maximum concurrent requests for cached operations: the slots of all indexers except backups.',
    () => replicas.reduce((sum, { route }) => sum + route.slots.max, 0),
  );
  metrics.gauge('upstream_requests_queued', 'Requests waiting for a slot or the rate limit.', () => ofClients.waiting);
  for (const operation of operations.names) {
    const help = 'Expected wait of a new miss for a slot or the rate limit.';
    const wait = () => ofClients.expectedWaitMs(operation) / 1000;
    metrics.gauge('upstream_expected_wait_seconds', help, wait, { operation });
  }
  return {
    /** In the order of the settings, backups last. */
    all: indexers,
    /** Absent without two replicas. */
    heads,
    /** How far the chain is known to have got. */
    chain,
    /** Call when a request is sent: polls the heads of all but backups in the background, if it is time. */
    pollHeads: (): void => (heads === undefined ? replicas[0]?.polls.pollIfDue() : heads.askIfDue()),
    /** See {@link Routes.whyNot}: by the place of the indexer. */
    whyNot: (request: RouteRequest) => routes.whyNot(request),
    /** For the cached operations and for pass-through. */
    admission: ofClients,
    /**
     * Builds an admission for these operations that waits for no client: its own slots at each indexer, and no rate. Its
     * requests open no circuit breaker of clients; it respects pauses.
     */
    admissionAhead: (operations: readonly Operation[], max: number, maxWaiting: number): Admission => {
      const ahead = all.map((route) => ({
        ...route,
        slots: new Slots({ now: monotonic, max, shares: {}, patienceMs }),
        rate: undefined,
        guards: new Map(operations.map(({ name }) => [name, route.guards.get('passthrough') ?? []])),
      }));
      const own = new Routes(random, ahead, {}, new Set(toNewest));
      return new Admission({ ...shared, routes: own, maxWaiting });
    },
    answerBodies,
    memory,
    /** From now on calls this when an indexer is found to follow another chain: its earlier answers must not be served. */
    onOtherChain: (forget: () => void): void => {
      for (const { head } of indexers) head.onOtherChain(forget);
    },
    /** Call when the clock has jumped: earlier instants then mean nothing. */
    forget: (): void => {
      for (const { polls } of indexers) polls.forget();
      chain.forget();
    },
    /**
     * Polls the heads of all indexers, and requests the blocks that all but backups name: the log reports indexers that
     * cannot be used, and those that lack the block that they name. Takes up to 3 s longer than their answers. Never
     * rejects.
     */
    checkHeads: async (): Promise<void> => {
      await Promise.all(indexers.map(({ polls, route }) => (route.isBackup ? polls.ask() : polls.check())));
    },
    /**
     * Resolves when the heads of several replicas are known, after at most 1 s, so that no outdated replica answers. With
     * Redis also those of all others: nothing goes to Redis before them.
     */
    ready: async (): Promise<void> => {
      const alone =
        scripting === undefined ? [] : indexers.filter(({ route }) => heads === undefined || route.isBackup);
      const polls: Promise<unknown>[] = alone.map(({ polls }) => polls.ask());
      if (heads !== undefined) polls.push(heads.ask());
      await Promise.race([Promise.all(polls), delay(READY_MS, undefined, { ref: false })]);
    },
    /** Closes all connections; requests under way fail. */
    close: async (): Promise<void> => {
      await Promise.all(indexers.map(({ client }) => client.close()));
      await answerBodies.close();
    },
  };
}

function openHeads(
  { settings, conditions, monotonic }: AppContext,
  instances: () => number,
  replicas: readonly OpenIndexer[],
): Heads {
  const { maxLag, requestsPerSecond } = settings.upstream;
  const shortestMs = (requestsPerSecond ?? FEW_PER_SECOND) < FEW_PER_SECOND ? HEADS_EVERY_MS_OF_FEW : HEADS_EVERY_MS;
  return new Heads({
    replicas,
    now: monotonic,
    onBehind: (index, isBehind) =>
      conditions.turn(isBehind, 'behind', { upstream: replicas[index]?.name }, '', { lasts: true }),
    askEveryMs: () => headEveryMs(shortestMs, requestsPerSecond, instances()),
    maxLag,
  });
}
