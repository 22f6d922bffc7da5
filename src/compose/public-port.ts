import { explainWith } from '../answer/explain.ts';
import type { RequestHandler } from '../answer/get.ts';
import { ClientAddresses } from '../clients/client-addresses.ts';
import { PerClientLimit } from '../clients/per-client-limit.ts';
import { clientRoom, openFilesLimit } from '../config/open-files.ts';
import { namedPaths } from '../config/passed-paths.ts';
import { BodyReader } from '../http/body-reader.ts';
import { openPaths } from '../http/pass-through/open-paths.ts';
import { Origins } from '../http/public/origins.ts';
import { PublicServer } from '../http/public/public-server.ts';
import type { AnsweredRequest } from '../http/public/responder.ts';
import type { ServedPaths } from '../http/public/served-paths.ts';
import type { ClientShare } from '../tell/client-share.ts';
import { type AnsweringDependencies, openAnswering } from './answering.ts';
import type { FollowerParts } from './attached-proof.ts';
import type { AppContext } from './context.ts';
import { explainers } from './explain.ts';
import { openRest, type RestParts } from './rest.ts';
import { operationTrial } from './trial.ts';

export interface PublicPortDependencies extends Omit<AnsweringDependencies, 'missLimit'> {
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
  readonly exchange: FollowerParts['exchange'];
  /** See `Clock.isShared`. */
  readonly isClockShared: () => boolean;
  /** Called with the client of each request that memory does not answer. */
  readonly onClient: (client: string) => void;
  readonly share: Pick<ClientShare, 'isWatching' | 'count'>;
  /** See {@link PublicServer}; absent where requests are not logged. */
  readonly onAnswered: ((request: AnsweredRequest) => void) | undefined;
}

/** The public port, and what else uses its parts. */
export type OpenPublicPort = ReturnType<typeof openPublicPort>;

/** Builds the public port, which does not listen yet, and the path of a request to its answer. */
export function openPublicPort(context: AppContext, parts: PublicPortDependencies) {
  const { settings, events, now } = context;
  const { cache, indexers, proof } = parts;
  const { report } = events;
  const missLimit = openLimit(context, 'misses', settings.clients.missesPerSecond);
  const { handler, ask, load, flights } = openAnswering(context, { ...parts, missLimit });
  const { trustedProxies = [] } = settings.clients;
  const addresses = new ClientAddresses({
    onUntrustedProxy: (address) => report({ name: 'proxy-not-trusted', address }),
    onUnreadHeader: (address, header) => report({ name: 'client-not-named', address, header }),
    trustedProxies,
  });
  const isPassed = isPassedBy(settings);
  const bodies = new BodyReader({
    maxBodyBytes: settings.passThrough.maxBodySize,
    maxReadingBytes: context.constants.passThrough.maxBufferedSize,
    now: context.monotonic,
  });
  const rest = isPassed && openRest(context, indexers, { missLimit, addresses, bodies });
  const { prefixes, enabled } = settings.passThrough;
  const paths: ServedPaths = {
    operations: context.operations,
    passThrough: rest?.passThrough,
    streaming: rest?.streaming,
    passedPrefixes: prefixes,
    isPassed,
    passedPaths: Array.isArray(enabled) ? enabled : undefined,
  };
  const { redis, instances, exchange, isClockShared } = parts;
  proof?.start({ indexers, ask, load, flights, redis, instances, exchange, isClockShared });
  const server = openServer(context, parts, { handler, addresses, paths, bodies });
  const help = 'Client requests that have not been answered yet.';
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
      network: settings.network,
      ...explainers(indexers, paths, rest?.joined !== undefined),
      policies: context.lifetimes,
      proof,
      now,
    }),
  };
}

interface ServerParts extends Omit<RestParts, 'missLimit'> {
  readonly handler: RequestHandler;
  readonly paths: ServedPaths;
}

function openServer(
  context: AppContext,
  parts: PublicPortDependencies,
  { handler, addresses, paths, bodies }: ServerParts,
): PublicServer {
  const { settings, events, now, monotonic } = context;
  const { http, upstream } = settings;
  const { share } = parts;
  const { requestsPerSecond } = settings.clients;
  const { maxConnections, warning } = clientRoom(settings, openFilesLimit());
  if (warning !== undefined) events.report({ name: 'few-open-files', warning });
  return new PublicServer({
    ...paths,
    origins: new Origins(http.allowedOrigins),
    bodies,
    handler,
    hits: http.fastLane && settings.logRequests !== 'all' ? handler : undefined,
    gzip: parts.gzip,
    onClient: parts.onClient,
    onAnswered: parts.onAnswered,
    requestLimit: openLimit(context, 'requests', requestsPerSecond),
    clientOf: addresses.of,
    requesterOf: addresses.requesterOf,
    onRequest: (socket, headers) => {
      if (share.isWatching) share.count(addresses.of(socket, headers));
    },
    countRequest: addresses.count,
    now,
    monotonic,
    report: events.report,
    waitMs: upstream.timeout,
    maxHeaderBytes: http.maxHeaderSize,
    headerTimeoutMs: http.requestTimeout,
    keepAliveMs: http.keepAliveTimeout,
    maxConnections,
    slowReaderMs: http.sendTimeout,
  });
}

function openLimit(
  { monotonic: now }: AppContext,
  name: string,
  perSecond: number | undefined,
): PerClientLimit | undefined {
  return perSecond ? new PerClientLimit({ name, perSecond, now }) : undefined;
}

/** Returns whether requests for a path may be passed through, apart from its prefix; `undefined` if none may. */
function isPassedBy({ passThrough: { enabled } }: AppContext['settings']): ((path: string) => boolean) | undefined {
  if (Array.isArray(enabled)) return openPaths(namedPaths(enabled));
  return enabled === true ? () => true : undefined;
}
