import type { Purges } from './cache/tiered-cache.ts';
import type { Settings } from './config/schema.ts';
import type { EventHub } from './event-hub.ts';
import { StreamConnection } from './stream/connection.ts';
import type { Frame } from './stream/frame.ts';
import { PushedFreshness } from './stream/pushed-freshness.ts';
import { type OpenSocket, socketOpener } from './stream/socket.ts';
import { Subscription } from './stream/subscription.ts';
import { Ticks } from './stream/ticks.ts';
import { Trust } from './stream/trust.ts';
import { Watches } from './stream/watches.ts';
import type { Call } from './ton/parse-call.ts';
import { accountsAskedFor } from './ton/watchable.ts';

/** How long a connection may take to open, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;

/** The stream of events beside the indexer, and what it does to the entries of this process. */
export interface OpenStream {
  readonly freshness: PushedFreshness;
  /** Current values, for the metrics. */
  readonly gauges: {
    readonly isConnected: () => boolean;
    readonly isStretching: () => boolean;
    readonly watches: () => number;
    readonly addresses: () => number;
  };
  /** To be called with each request of a client. */
  readonly onAsked: (call: Call, key: string) => void;
  /** Applies events of the stream to an entry before `purges` applies its bans. */
  readonly applyTo: (purges: Purges) => Purges;
  /** Forgets all watches, because instants from before the jump mean nothing; polled keys are watched anew. */
  readonly onClockJump: () => void;
  /** Sets how a key that is polled is refreshed: to be called once, before `start`. Never rejects. */
  readonly refreshBy: (refresh: Refresh) => void;
  /** Begins to connect. */
  start(): void;
  close(): void;
}

/** Asks the indexer anew for a key. Resolves when that ended, in any way. */
type Refresh = (call: Call, key: string) => Promise<void>;

export interface OpenStreamDependencies {
  readonly events: EventHub;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly random: () => number;
  /** Instead of a WebSocket of the server that the settings name. */
  readonly open?: OpenSocket;
}

/** Builds the stream without connecting; `undefined` where `stream.url` is not set. */
export function openStream(dependencies: OpenStreamDependencies, settings: Settings): OpenStream | undefined {
  const { events, now, monotonic, random } = dependencies;
  const { report } = events.stream;
  const { url, apiKey, maxAddresses } = settings.stream;
  if (url === undefined) return undefined;
  let refresh: Refresh = async () => {};
  const ticks = new Ticks();
  const trust = new Trust({ monotonic, report });
  const watches = new Watches(
    {
      ticks,
      accountsOf: accountsAskedFor,
      onNames: () => subscription.changed(),
      monotonic,
    },
    { maxAddresses },
  );
  const subscription = new Subscription({
    wanted: () => watches.names(),
    send: (message) => connection.send(message),
    ticks,
    onLimit: (limit) => watches.limit(limit),
    report,
  });
  const freshness = new PushedFreshness(
    {
      watches,
      ticks,
      sinceOf: (name) => subscription.sinceOf(name),
      isTrusted: () => trust.isGiven,
      onMissed: () => trust.missed(),
      refresh: (call, key) => refresh(call, key),
      now,
      monotonic,
    },
    { stretchedMs: settings.lifetimes.pendingWatched },
  );
  const onFrame = (frame: Exclude<Frame, { kind: 'bad' }>) => {
    if (frame.kind !== 'event') {
      subscription.take(frame);
      return;
    }
    report({ name: 'stream-event', type: frame.type });
    freshness.onEvent(frame);
  };
  const connection = new StreamConnection({
    open: dependencies.open ?? socketOpener(url, apiKey, CONNECT_TIMEOUT_MS),
    random,
    onUp: () => watches.begin(),
    onDown: () => {
      watches.end();
      subscription.reset();
    },
    onFrame,
    report,
  });
  return {
    freshness,
    gauges: {
      isConnected: () => connection.isUp,
      isStretching: () => connection.isUp && trust.isGiven,
      watches: () => watches.count,
      addresses: () => watches.addresses,
    },
    onAsked: (call, key) => {
      if (call.operation.name === 'pendingTraces') watches.asked(call, key);
    },
    applyTo: (purges) => ({
      applyBans: (entry) => purges.applyBans(freshness.applyEvents(entry)),
      purgedUntil: (entry) => purges.purgedUntil(entry),
      get isCurrent() {
        return purges.isCurrent;
      },
    }),
    onClockJump: () => watches.forget(),
    refreshBy: (how) => {
      refresh = how;
    },
    start: () => connection.start(),
    close: () => {
      connection.close();
      watches.end();
      trust.close();
    },
  };
}
