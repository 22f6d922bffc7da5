import { explainWith } from '../answer/explain.ts';
import { RequestHandler } from '../answer/handle-request.ts';
import { Indexers, type IndexersDependencies } from '../answer/indexers.ts';
import { EntryLoader, type EntryLoaderDependencies, failureTtlOf, type Load } from '../answer/load-entry.ts';
import { refreshStaleWith } from '../answer/refresh-stale.ts';
import { refusalErrorWith } from '../answer/refusal-error.ts';
import type { Gzip } from '../cache/gzip.ts';
import type { TieredCache } from '../cache/tiered-cache.ts';
import { ClientAddresses } from '../clients/client-addresses.ts';
import { PerClientLimit } from '../clients/per-client-limit.ts';
import { PASS_THROUGH } from '../config/operations-setting.ts';
import { namedPaths, passesStreams } from '../config/passed-paths.ts';
import { Hedging } from '../fleet/hedging.ts';
import { HEDGES, RETRIES, RetryBudget } from '../fleet/retry-budget.ts';
import { BodyReader } from '../http/body-reader.ts';
import { JoinedRequests, REST_SHARE_OF_MEMORY } from '../http/pass-through/joined-requests.ts';
import { openPaths } from '../http/pass-through/open-paths.ts';
import type { PassOnParts } from '../http/pass-through/pass-on.ts';
import { openPassThrough } from '../http/pass-through/pass-through.ts';
import { Origins } from '../http/public/origins.ts';
import { PublicServer } from '../http/public/public-server.ts';
import type { AnsweredRequest } from '../http/public/responder.ts';
import type { ServedPaths } from '../http/public/served-paths.ts';
import { openStreaming } from '../http/streaming/streaming.ts';
import { Leases } from '../once/lease.ts';
import { SingleFlight } from '../once/single-flight.ts';
import { CallMemo } from '../ton/call-memo.ts';
import type { BlockProof } from './attached-proof.ts';
import { openClientRoom } from './client-room.ts';
import type { AppContext } from './context.ts';
import { explainers } from './explain.ts';
import type { OpenIndexers } from './indexers.ts';
import type { SharedRedis } from './redis.ts';
import { addStreamMetrics, openStreamServer, waitingBytesOf } from './stream-server.ts';
import { operationTrial } from './trial.ts';

export interface PublicPortDependencies {
  readonly cache: TieredCache;
  readonly gzip: Gzip;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: SharedRedis | undefined;
  readonly indexers: OpenIndexers;
  /** Absent if no answers are proven. */
  readonly proof: BlockProof | undefined;
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
  /** Called with the key of each valid request. */
  readonly onTouch: (key: string) => void;
  /** Called with the client of each request that memory does not answer. */
  readonly onClient: (client: string) => void;
  /** Called with the client of each request that is above its limit. */
  readonly onLimited: (client: string) => void;
  /** See {@link PublicServer}; absent where requests are not logged. */
  readonly onAnswered: ((request: AnsweredRequest) => void) | undefined;
}

/**
 * Builds the public port, which does not listen yet, and the path of a request to its answer: server, handler, flights,
 * loader.
 */
export function openPublicPort(context: AppContext, parts: PublicPortDependencies) {
  const { settings, constants, events, now, monotonic, random } = context;
  const { cache, gzip, redis, indexers, proof } = parts;
  const { upstream, network } = settings;
  const { collapseWindow, failureTtl } = constants.coalescing;
  const { admission, heads, pollHeads } = indexers;
  const { report } = events;
  const refusalError = refusalErrorWith(random);
  const hedges = new RetryBudget({ now: monotonic }, HEDGES);
  const ask: IndexersDependencies = {
    indexers: indexers.all,
    heads,
    hasReached: (seqno) => indexers.chain.hasReached(seqno),
    hedging: heads && new Hedging({ budget: hedges, unknownMs: upstream.timeout / 10 }),
    pollHeads,
    admission,
    refusalError,
    bodies: indexers.answerBodies,
    retries: new RetryBudget({ now: monotonic }, RETRIES),
    random,
    monotonic,
    report,
    proofs: proof?.proofs,
    reportBug: events.reportBug,
    policies: context.lifetimes,
  };
  const load: EntryLoaderDependencies = {
    cache,
    admission,
    indexers: new Indexers(ask),
    leases:
      redis &&
      new Leases({
        redis: redis.connection,
        cache,
        leaseKey: redis.leaseKey,
        now: monotonic,
        // Requests that wait for a killed instance still have half of their time for their own load.
        leaseMs: Math.min(collapseWindow, Math.ceil(upstream.timeout / 2)),
        pollBudgetMs: settings.redis.budget,
      }),
    refusalError,
    monotonic,
    report,
    redisBudgetMs: settings.redis.budget,
    failureTtlMs: failureTtl,
  };
  const loader = new EntryLoader(load);
  const flights = new SingleFlight<Load>({
    onFollowed: (flight, client) => admission.backlog.join(flight, client),
    keptMs: failureTtlOf,
    now: monotonic,
    collapseWindowMs: collapseWindow,
  });
  const refreshStale = refreshStaleWith({ flights, loader, onBug: events.reportBug, timeoutMs: upstream.timeout });
  const { missesPerSecond } = settings.clients;
  const missLimit = openLimit(context, parts, 'misses', missesPerSecond);
  const handler = new RequestHandler({
    calls: new CallMemo(network),
    cache,
    gzip,
    flights,
    loader,
    refreshStale,
    missLimit,
    memory: indexers.memory,
    onTouch: parts.onTouch,
    demand: proof?.demand,
    now,
    monotonic,
    random,
    report,
  });
  const { trustedProxies = [] } = settings.clients;
  const addresses = new ClientAddresses({
    onUntrustedProxy: (address) => report({ name: 'proxy-not-trusted', address }),
    onUnreadHeader: (address, header) => report({ name: 'client-not-named', address, header }),
    trustedProxies,
  });
  const isPassed = isPassedBy(settings);
  const origins = new Origins(settings.http.allowedOrigins);
  const rest = isPassed && openRest(context, indexers, { missLimit, addresses, origins });
  const { prefixes, enabled } = settings.passThrough;
  const paths: ServedPaths = {
    operations: context.operations,
    passThrough: rest?.passThrough,
    streaming: rest?.streaming,
    passedPrefixes: prefixes,
    isPassed,
    passedPaths: Array.isArray(enabled) ? enabled : undefined,
  };
  proof?.start({ indexers, ask, load, flights, instances: parts.instances });
  const server = openServer(context, parts, { handler, addresses, paths, origins });
  const help = 'Requests of clients that are not answered yet.';
  context.metrics.gauge('requests_in_flight', help, () => server.requestsInFlight);
  return {
    server,
    /** The streams of clients; absent without pass-through. */
    streams: rest?.streaming?.streams,
    /** Ends the kept answers of the rest of the API. */
    forgetRest: () => rest?.joined?.forget(),
    /** For {@link tryServices}. */
    tryOperation: operationTrial(context, ask),
    explain: explainWith({
      cache,
      operations: context.operations,
      network,
      ...explainers(indexers, paths, rest?.joined !== undefined),
      policies: context.lifetimes,
      proof,
      now,
    }),
  };
}

/** The parts of the rest of the API that other requests use as well. */
interface RestParts {
  readonly missLimit: PerClientLimit | undefined;
  readonly addresses: ClientAddresses;
  readonly origins: Origins;
}

interface ServerParts extends Omit<RestParts, 'missLimit'> {
  readonly handler: RequestHandler;
  readonly paths: ServedPaths;
}

function openServer(
  context: AppContext,
  parts: PublicPortDependencies,
  { handler, addresses, paths, origins }: ServerParts,
): PublicServer {
  const { settings, events, now, monotonic } = context;
  const { http, upstream } = settings;
  const { requestsPerSecond } = settings.clients;
  return new PublicServer({
    ...paths,
    origins,
    handler,
    hits: http.fastLane && settings.logRequests !== 'all' ? handler : undefined,
    gzip: parts.gzip,
    onClient: parts.onClient,
    onAnswered: parts.onAnswered,
    requestLimit: openLimit(context, parts, 'requests', requestsPerSecond),
    clientOf: addresses.of,
    countRequest: addresses.count,
    now,
    monotonic,
    report: events.report,
    waitMs: upstream.timeout,
    maxHeaderBytes: http.maxHeaderSize,
    headerTimeoutMs: http.requestTimeout,
    keepAliveMs: http.keepAliveTimeout,
    maxConnections: openClientRoom(context),
    slowReaderMs: http.sendTimeout,
  });
}

function openLimit(
  { monotonic: now }: AppContext,
  { onLimited: onRefused }: PublicPortDependencies,
  name: string,
  perSecond: number | undefined,
): PerClientLimit | undefined {
  return perSecond ? new PerClientLimit({ name, perSecond, now, onRefused }) : undefined;
}

/** Returns whether requests for a path may be passed through, apart from its prefix; `undefined` if none may. */
function isPassedBy({ passThrough: { enabled } }: AppContext['settings']): ((path: string) => boolean) | undefined {
  if (Array.isArray(enabled)) return openPaths(namedPaths(enabled));
  return enabled === true ? () => true : undefined;
}

/** The memory for answers of the rest of the API; 0 if equal requests for it are not joined. */
export function restBytesOf({ operations, passThrough, memory }: AppContext['settings']): number {
  const isJoined = passThrough.enabled !== false && operations?.includes(PASS_THROUGH) === true;
  return isJoined ? Math.floor(memory.maxSize * REST_SHARE_OF_MEMORY) : 0;
}

/** The rest of the API: pass-through, and the Streaming API. */
function openRest(context: AppContext, indexers: OpenIndexers, { missLimit, addresses, origins }: RestParts) {
  const { settings, constants, operations, events, monotonic, random } = context;
  const { passThrough, upstream } = settings;
  const parts: PassOnParts = {
    operations,
    admission: indexers.admission,
    memory: indexers.memory,
    missLimit,
    bodies: new BodyReader({
      maxBodyBytes: passThrough.maxBodySize,
      maxReadingBytes: constants.passThrough.maxBufferedSize,
      now: monotonic,
    }),
    refusalError: refusalErrorWith(random),
    report: events.report,
    sharesOurKey: passThrough.sharedKey,
  };
  const { client, apiKey } = openStreamServer(context);
  const alone = openPassThrough({
    ...parts,
    indexers: indexers.all,
    pollHeads: indexers.pollHeads,
    maxTransfers: constants.passThrough.maxTransfers,
    hasOurKey: upstream.apiKey !== undefined,
  });
  const maxKeptBytes = restBytesOf(settings);
  const joined =
    maxKeptBytes === 0
      ? undefined
      : new JoinedRequests({
          ...parts,
          passThrough: alone,
          now: monotonic,
          collapseWindowMs: constants.coalescing.collapseWindow,
          maxKeptBytes,
          maxAnswerBytes: Math.min(upstream.maxBodySize, maxKeptBytes),
          onReading: indexers.memory.onReading,
        });
  const streaming = passesStreams(passThrough.enabled)
    ? openStreaming({
        ...parts,
        origins,
        upstream: { forward: client.forward, apiKey },
        unreadHeaderOf: ({ socket, headers }) => addresses.unreadHeaderOf(socket, headers),
        most: passThrough.maxStreams,
        mostPerClient: passThrough.maxStreamsPerClient,
        mostWaitingBytes: waitingBytesOf(settings),
      })
    : undefined;
  if (streaming !== undefined) addStreamMetrics(context, streaming);
  return { joined, passThrough: joined?.pass ?? alone.pass, streaming };
}
