import { gzipSync } from 'node:zlib';
import type { Entry } from '../../cache/entry.ts';
import type { WaitingClient } from '../../clients/waiting-clients.ts';
import { type AdminAccessOptions, adminAccess, readingAccess } from '../../http/admin/admin-access.ts';
import { type AdminPath, sendJson } from '../../http/admin/admin-server.ts';
import { parseTarget } from '../../http/parse-request.ts';
import type { EpochMs } from '../../time-units.ts';
import { withoutNetwork } from '../../ton/cache-key.ts';
import type { StatusHistory, StatusMoment } from './history.ts';
import { firstPage, pageFiles, sendPacked } from './page-files.ts';
import type { TopKeys } from './top-keys.ts';

export interface StatusPagesDependencies {
  readonly history: StatusHistory;
  readonly about: StatusMessage['about'];
  readonly topKeys: TopKeys;
  /** The clients of the requests that memory did not answer. */
  readonly topClients: TopKeys;
  /** Most first. */
  readonly waitingClients: () => readonly WaitingClient[];
  /** The address of a client as it is shown. */
  readonly shownClient: (client: string) => string;
  readonly inMemory: (key: string) => Entry | undefined;
  readonly now: () => EpochMs;
  readonly access: AdminAccessOptions;
}

/** `/status.json`: the last moment. */
export interface StatusMessage extends StatusMoment {
  /** The constant data of the instance. */
  readonly about: {
    readonly version: string;
    readonly host: string;
    readonly network: string;
    readonly upstreams: readonly string[];
    readonly startedAt: EpochMs;
    /** The minimum number of keys of an operation for its circuit breaker to open. */
    readonly breakerMinimumKeys: number;
  };
  /** The moments after the instant in `since`, as charts need them; absent without `since`. */
  readonly history?: readonly ReturnType<typeof inCharts>[];
  /** The most requested keys, and the clients that wait and send most; only with the right to purge. */
  readonly keys?: ReturnType<typeof shownKeys>;
  readonly clients?: ReturnType<typeof shownClients>;
}

const SHOWN_KEYS = 15;
const SHOWN_CLIENTS = 5;
const LONGEST_REQUEST = 300;

/**
 * The status page at `/`, its files, and `/status.json`, which the page requests every second. Readers of `/metrics`
 * may read the numbers, which are the same. Keys contain addresses that clients ask about, so only those who may purge
 * see them.
 */
export function statusPages(dependencies: StatusPagesDependencies): Record<string, AdminPath> {
  const { history, about, access } = dependencies;
  const refusedKeys = adminAccess(access);
  const refusedToRead = readingAccess(access);
  const last = async (): Promise<StatusMoment | undefined> => {
    const moment = (await history.moments()).at(-1);
    return moment && { ...moment, episodes: [...moment.episodes, startOf(about)].slice(0, EPISODES) };
  };
  const serve: AdminPath['serve'] = async (request, response) => {
    const since = new URLSearchParams(parseTarget(request.url ?? '').rawQuery).get('since');
    const message: Partial<StatusMessage> = {
      about,
      ...(await last()),
      ...(since !== null && {
        history: (await history.moments()).filter(({ at }) => at > Number(since)).map(inCharts),
      }),
      ...(refusedKeys(request) === undefined && { keys: shownKeys(dependencies), clients: shownClients(dependencies) }),
    };
    if (since === null) return sendJson(response, 200, message, NO_STORE);
    // The history of five minutes is large.
    const plain = JSON.stringify(message);
    sendPacked(request, response, 'application/json', { plain, packed: gzipSync(plain) }, NO_STORE);
  };
  const firstTold: Parameters<typeof firstPage>[0] = async (request) => {
    const refused = refusedToRead(request);
    // A link on another site may lead here: it cannot read the page.
    const isLinked = refused?.status === 403 && request.headers['sec-fetch-mode'] === 'navigate';
    return refused === undefined || isLinked ? last() : undefined;
  };
  return { ...pageFiles(), '/': firstPage(firstTold), '/status.json': { method: 'GET', access: 'ownPages', serve } };
}

const NO_STORE = ['Cache-Control', 'no-store'];

/** The episodes that are shown at most, with the start. */
const EPISODES = 10;

const startOf = ({ version, startedAt: since }: StatusMessage['about']): StatusMoment['episodes'][number] => ({
  ...({ level: 'started', since, until: since, isOver: true } as const),
  ...{ says: `${version} started`, indexers: [], operations: 0, section: '' },
});

const inCharts = ({ at, rates, upstream, memory, process }: StatusMoment) => ({ at, rates, upstream, memory, process });

/** The most requested keys, without the network, with their entries in memory. */
function shownKeys({ topKeys, inMemory, about, now }: StatusPagesDependencies) {
  return topKeys.top(SHOWN_KEYS).map(({ key, share }) => {
    const entry = inMemory(key);
    return {
      request: withoutNetwork(key, about.network).slice(0, LONGEST_REQUEST),
      share,
      ...(entry && { answerClass: entry.meta.answerClass, freshForMs: entry.freshUntil - now() }),
    };
  });
}

/** The clients that wait and send most, those that wait most first. */
function shownClients({ topClients, waitingClients, shownClient }: StatusPagesDependencies) {
  const shares = new Map(topClients.top(SHOWN_CLIENTS).map(({ key, share }) => [key, share]));
  const counts = new Map(waitingClients().map(({ client, requests }) => [client, requests]));
  return [...new Set([...counts.keys(), ...shares.keys()])].slice(0, SHOWN_CLIENTS).map((client) => ({
    client: shownClient(client),
    /**
     * The share of the requests that memory did not answer, estimated, 0 to 1; `undefined` for a client with few
     * requests.
     */
    share: shares.get(client),
    /** Its requests in the backlog. */
    waiting: counts.get(client) ?? 0,
  }));
}
