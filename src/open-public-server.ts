import type { Gzip } from './cache/gzip.ts';
import type { TieredCache } from './cache/tiered-cache.ts';
import type { Settings } from './config/schema.ts';
import type { EventHub } from './event-hub.ts';
import { BodyReader } from './http/pass-through/body-reader.ts';
import { PassThrough } from './http/pass-through/pass-through.ts';
import { PublicServer } from './http/public/public-server.ts';
import type { OpenIndexer } from './open-indexer.ts';
import type { RequestHandler } from './proxy/handle-request.ts';

export interface OpenPublicServerDependencies {
  readonly events: EventHub;
  readonly cache: TieredCache;
  readonly gzip: Gzip;
  readonly handler: RequestHandler;
  /** Used for pass-through alone: its client and its pass-through admission. */
  readonly indexer: OpenIndexer;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly random: () => number;
}

/** Builds the public port, which does not listen yet. */
export function openPublicServer(dependencies: OpenPublicServerDependencies, settings: Settings): PublicServer {
  const { events, cache, gzip, handler, now } = dependencies;
  const { http, upstream } = settings;
  return new PublicServer(
    {
      passThrough: settings.passThrough.enabled ? openPassThrough(dependencies, settings) : undefined,
      handle: (request) => handler.handle(request),
      hits: http.fastLane ? handler : undefined,
      bodyFor: (entry, acceptsGzip) => gzip.bodyFor(entry, acceptsGzip),
      moveBody: (entry, coding, body) => gzip.move(entry, coding, body),
      discard: (entry) => cache.discard(entry),
      now,
      onRefused: (code) => events.proxy.report({ name: 'refused', code }),
      onBug: events.reportBug,
    },
    {
      waitMs: upstream.timeout,
      maxWaiting: http.maxWaiting,
      maxHeaderBytes: http.maxHeaderSize,
      headerTimeoutMs: http.headerTimeout,
      keepAliveMs: http.keepAlive,
      maxConnections: http.maxConnections,
      slowReaderMs: http.slowReader,
    },
  );
}

function openPassThrough(
  { events, indexer, monotonic, random }: OpenPublicServerDependencies,
  { passThrough, upstream }: Settings,
): PassThrough {
  return new PassThrough(
    {
      admission: indexer.passThroughAdmission,
      upstream: indexer.client,
      bodies: new BodyReader({ maxBodyBytes: passThrough.maxBodySize, maxReadingBytes: passThrough.maxReading }),
      random,
      monotonic,
      report: events.proxy.report,
    },
    { maxTransfers: passThrough.maxTransfers, ourKey: upstream.apiKey, sharesOurKey: passThrough.sharedKey },
  );
}
