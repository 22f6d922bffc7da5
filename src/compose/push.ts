import type { RefreshStale } from '../answer/refresh-stale.ts';
import { connectorBy } from '../names/connector.ts';
import { EventEffects } from '../push/apply-events.ts';
import { StreamConnection } from '../push/connection.ts';
import { type OpenSocket, socketOpener } from '../push/socket.ts';
import { Subscription } from '../push/subscription.ts';
import { Watches } from '../push/watches.ts';
import type { AppContext } from './context.ts';

/** The timeout of opening a connection. */
const CONNECT_TIMEOUT_MS = 5000;

/** The stream of events next to the indexer, and its effects on the entries of this process. */
export type OpenPush = NonNullable<ReturnType<typeof openPush>>;

/**
 * Builds the stream without connecting; `undefined` without `stream.url`. `refresh` loads a polled key again; it is
 * called once the connection is up. `open` may open another socket than a WebSocket of the server in the settings.
 */
export function openPush(
  { settings, events, names, now, monotonic, random }: AppContext,
  refresh: RefreshStale,
  open?: OpenSocket,
) {
  const { report } = events;
  const { url, apiKey, maxAddresses } = settings.stream;
  if (url === undefined) return undefined;
  const watches = new Watches({ onNames: () => subscription.changed(), now, monotonic });
  const send = (message: { readonly id: string }) => connection.send(message);
  const subscription: Subscription = new Subscription({ watches, maxAddresses, send, report });
  const effects = new EventEffects({
    watches,
    refresh,
    now,
    report,
    emptyWatchedMs: settings.lifetimes.emptyWatched,
  });
  const connection = new StreamConnection({
    open: open ?? socketOpener({ url, apiKey, connect: connectorBy(names, CONNECT_TIMEOUT_MS) }),
    random,
    onUp: () => subscription.changed(),
    onDown: () => subscription.reset(),
    onFrame: (frame) => {
      if (frame.kind !== 'event') {
        subscription.take(frame);
        return;
      }
      report({ name: 'stream-event' });
      effects.onEvent(frame);
    },
    report,
  });
  return {
    effects,
    watches,
    subscription,
    connection,
    close: (): void => {
      connection.close();
      watches.close();
    },
  };
}
