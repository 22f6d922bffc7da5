import { refusalErrorWith } from '../answer/refusal-error.ts';
import type { ClientAddresses } from '../clients/client-addresses.ts';
import type { PerClientLimit } from '../clients/per-client-limit.ts';
import { PASS_THROUGH } from '../config/operations-setting.ts';
import { passesStreams } from '../config/passed-paths.ts';
import type { BodyReader } from '../http/body-reader.ts';
import { JoinedRequests, REST_SHARE_OF_MEMORY } from '../http/pass-through/joined-requests.ts';
import type { PassOnParts, PassThrough } from '../http/pass-through/pass-on.ts';
import { openPassThrough } from '../http/pass-through/pass-through.ts';
import { reportedPass } from '../http/pass-through/reported-pass.ts';
import { openStreaming } from '../http/streaming/streaming.ts';
import type { AppContext } from './context.ts';
import type { OpenIndexers } from './indexers.ts';
import { addStreamMetrics, openStreamServer, waitingBytesOf } from './stream-server.ts';

/** The parts of the rest of the API that other requests use as well. */
export interface RestParts {
  readonly missLimit: PerClientLimit | undefined;
  readonly addresses: ClientAddresses;
  readonly bodies: BodyReader;
}

/** The memory for answers of the rest of the API; 0 if equal requests for it are not joined. */
export function restBytesOf({ operations, passThrough, memory }: AppContext['settings']): number {
  const isJoined = passThrough.enabled !== false && operations?.includes(PASS_THROUGH) === true;
  return isJoined ? Math.floor(memory.maxSize * REST_SHARE_OF_MEMORY) : 0;
}

/** The host and port of the Streaming API, if it is not the first indexer. */
function ownServer({ stream }: AppContext['settings']): string | undefined {
  return stream.url === undefined ? undefined : new URL(stream.url).host;
}

/** The rest of the API: pass-through, and the Streaming API. */
export function openRest(context: AppContext, indexers: OpenIndexers, { missLimit, addresses, bodies }: RestParts) {
  const { settings, constants, operations, events, monotonic, random } = context;
  const { passThrough, upstream } = settings;
  const parts: PassOnParts = {
    operations,
    admission: indexers.admission,
    memory: indexers.memory,
    missLimit,
    bodies,
    refusalError: refusalErrorWith(random),
    report: events.report,
    sharesOurKey: passThrough.sharedKey,
  };
  const { client, ours } = openStreamServer(context);
  const alone = openPassThrough({
    ...parts,
    indexers: indexers.all,
    pollHeads: indexers.pollHeads,
    maxTransfers: constants.passThrough.maxTransfers,
    hasOurKey: indexers.all.some(({ ours, route }) => ours !== undefined && !route.isBackup),
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
        upstream: { forward: client.forward, ours, name: ownServer(settings) },
        unreadHeaderOf: ({ socket, headers }) => addresses.unreadHeaderOf(socket, headers),
        most: passThrough.maxStreams,
        mostPerClient: passThrough.maxStreamsPerClient,
        mostWaitingBytes: waitingBytesOf(settings),
      })
    : undefined;
  if (streaming !== undefined) addStreamMetrics(context, streaming);
  const reported = (operation: 'passthrough' | 'streaming', pass: PassThrough) =>
    reportedPass({ operation, pass, requesterOf: addresses.requesterOf, report: events.report });
  return {
    joined,
    passThrough: reported('passthrough', joined?.pass ?? alone.pass),
    streaming: streaming && { ...streaming, pass: reported('streaming', streaming.pass) },
  };
}
