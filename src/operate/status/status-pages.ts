import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Entry } from '../../cache/entry.ts';
import type { WaitingClient } from '../../clients/waiting-clients.ts';
import { type AdminAccessOptions, adminAccess } from '../../http/admin/admin-access.ts';
import { type AdminPath, sendJson, sendText } from '../../http/admin/admin-server.ts';
import { parseTarget } from '../../http/parse-request.ts';
import type { EpochMs } from '../../time-units.ts';
import { withoutNetwork } from '../../ton/cache-key.ts';
import { docPages } from './doc-pages.ts';
import type { StatusHistory, StatusMoment } from './history.ts';
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
  /** The moments after the instant in `since`; absent without `since`. */
  readonly history?: readonly StatusMoment[];
  /** The most requested keys, and the clients that wait and send most; only with the right to purge. */
  readonly keys?: ReturnType<typeof shownKeys>;
  readonly clients?: ReturnType<typeof shownClients>;
}

const SHOWN_KEYS = 15;
const SHOWN_CLIENTS = 5;
const LONGEST_REQUEST = 300;

/** The page loads nothing from other origins, sends nothing to them, and cannot be framed. */
const PAGE_HEADERS = [
  'Content-Security-Policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cache-Control',
  'no-cache',
];

/**
 * The status page at `/`, its files, and `/status.json`, which the page requests every second. Readers of `/metrics`
 * may read the numbers, which are the same. Keys contain addresses that clients ask about, so only those who may purge
 * see them.
 */
export function statusPages(dependencies: StatusPagesDependencies): Record<string, AdminPath> {
  const { history, about, access } = dependencies;
  const refusedKeys = adminAccess(access);
  const serve: AdminPath['serve'] = async (request, response) => {
    const moments = await history.moments();
    const since = new URLSearchParams(parseTarget(request.url ?? '').rawQuery).get('since');
    const message: Partial<StatusMessage> = {
      about,
      ...moments.at(-1),
      ...(since !== null && { history: moments.filter(({ at }) => at > Number(since)) }),
      ...(refusedKeys(request) === undefined && { keys: shownKeys(dependencies), clients: shownClients(dependencies) }),
    };
    sendJson(response, 200, message, ['Cache-Control', 'no-store']);
  };
  return { ...pageFiles(), '/status.json': { method: 'GET', access: 'ownPages', serve } };
}

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

const HTML = 'text/html; charset=utf-8';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': HTML,
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const require = createRequire(import.meta.url);

/** All files of the page and the documentation, by path. Throws if the installation lacks one. */
function pageFiles(): Record<string, AdminPath> {
  const page = join(import.meta.dirname, 'page');
  const uplot = dirname(require.resolve('uplot'));
  const pathOf = (contentType: string, bodyOf: () => string | Buffer): AdminPath => ({
    method: 'GET',
    access: 'any',
    serve: (_, response) => sendText(response, 200, contentType, bodyOf(), PAGE_HEADERS),
  });
  const file = (from: string): AdminPath => {
    const body = readFileSync(from);
    return pathOf(CONTENT_TYPES[extname(from)] ?? 'application/octet-stream', () => body);
  };
  const docs = [...docPages()].map(([name, render]) => [`/status/docs/${name}`, pathOf(HTML, render)] as const);
  return {
    ...Object.fromEntries(docs),
    '/': file(join(page, 'index.html')),
    ...Object.fromEntries(readdirSync(page).map((name) => [`/status/${name}`, file(join(page, name))])),
    '/status/uplot.js': file(join(uplot, 'uPlot.esm.js')),
    '/status/uplot.css': file(join(uplot, 'uPlot.min.css')),
  };
}
