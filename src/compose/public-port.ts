import { explainWith } from '../answer/explain.ts';
import type { RequestHandler } from '../answer/handle-request.ts';
import { ClientAddresses } from '../clients/client-addresses.ts';
import { PerClientLimit } from '../clients/per-client-limit.ts';
import { namedPaths } from '../config/passed-paths.ts';
import { openPaths } from '../http/pass-through/open-paths.ts';
import { Origins } from '../http/public/origins.ts';
import { PublicServer } from '../http/public/public-server.ts';
import type { AnsweredRequest } from '../http/public/responder.ts';
import type { ServedPaths } from '../http/public/served-paths.ts';
import { type AnsweringDependencies, openAnswering } from './answering.ts';
import { openClientRoom } from './client-room.ts';
import type { AppContext } from './context.ts';
import { explainers } from './explain.ts';
import { openRest, type RestParts } from './rest.ts';
import { operationTrial } from './trial.ts';

export interface PublicPortDependencies extends Omit<AnsweringDependencies, 'missLimit'> {
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
  /** Called with the client of each request that memory does not answer. */
  readonly onClient: (client: string) => void;
  /** Called with the client of each request that is above its limit. */
  readonly onLimited: (client: string) => void;
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
  const missLimit = openLimit(context, parts, 'misses', settings.clients.missesPerSecond);
  const { handler, ask, load, flights } = openAnswering(context, { ...parts, missLimit });
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
