import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Entry } from '../../cache/entry.ts';
import { type AdminGuardOptions, guardAdmin, guardReading } from '../../http/admin/admin-guard.ts';
import type { ServedStatus } from '../../http/admin/admin-server.ts';
import { sendJson } from '../../http/admin/send-json.ts';
import { type MetricSample, Samples } from '../samples.ts';
import { readNumbers } from './numbers.ts';
import { readPageFiles } from './page-files.ts';
import { StatusFeed, type StatusMessage } from './status-feed.ts';
import type { ShownClient } from './top-clients.ts';
import type { TopKeys } from './top-keys.ts';

export interface StatusPagesDependencies {
  readonly samples: () => Promise<readonly MetricSample[]>;
  readonly topKeys: TopKeys;
  /** Those that wait and ask most. */
  readonly topClients: () => readonly ShownClient[];
  /** The entry that memory holds for a key; does not count as a use. */
  readonly inMemory: (key: string) => Entry | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly onBug: (error: unknown) => void;
}

/** Ratios and latencies cover 10 s: so many messages. */
const WINDOW_SAMPLES = 11;
const SHOWN_KEYS = 15;
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
 * The status page at `/`, its files, and `/status/events`, which it reads. Who may read `/metrics` may read the
 * numbers, which are the same. Keys hold addresses that clients ask about, so they are shown only to those who may
 * purge.
 */
export class StatusPages implements ServedStatus {
  readonly #dependencies: StatusPagesDependencies;
  readonly #files = readPageFiles();
  readonly #feed: StatusFeed;
  readonly #refusedToRead: ReturnType<typeof guardReading>;
  readonly #refusedKeys: ReturnType<typeof guardAdmin>;
  /** Those of the last 10 s, while there are viewers. */
  #samples: Samples[] = [];

  constructor(dependencies: StatusPagesDependencies, guard: AdminGuardOptions) {
    this.#dependencies = dependencies;
    this.#refusedToRead = guardReading(guard);
    this.#refusedKeys = guardAdmin(guard);
    this.#feed = new StatusFeed({ read: (isFirst) => this.#read(isFirst), onBug: dependencies.onBug });
  }

  serve(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const file = this.#files.get(path);
    if (file !== undefined) {
      const { contentType, body } = file;
      const headers = ['Content-Type', contentType, 'Content-Length', String(body.byteLength)];
      response.writeHead(200, [...headers, ...PAGE_HEADERS]).end(request.method === 'HEAD' ? undefined : body);
      return true;
    }
    if (path !== '/status/events') return false;
    const refused = this.#refusedToRead(request);
    if (refused !== undefined) {
      sendJson(response, refused.status, { error: refused.error }, refused.headers);
    } else if (request.method === 'HEAD') {
      sendJson(response, 405, { error: 'accepted: GET' }, ['Allow', 'GET']);
    } else if (this.#feed.isClosed) {
      sendJson(response, 503, { error: 'the process is shutting down' }, ['Retry-After', '5']);
    } else {
      this.#feed.add(response, this.#refusedKeys(request) === undefined);
    }
    return true;
  }

  /** Ends the responses of all viewers. */
  close(): void {
    this.#feed.close();
  }

  async #read(isFirst: boolean): Promise<StatusMessage> {
    const { samples, topClients, monotonic, now } = this.#dependencies;
    const newest = new Samples(await samples(), monotonic());
    const [oldest = newest, ...others] = [...(isFirst ? [] : this.#samples), newest].slice(-WINDOW_SAMPLES);
    this.#samples = [oldest, ...others];
    return {
      numbers: { at: now(), ...readNumbers([oldest, ...others]) },
      secrets: { keys: this.#shownKeys(), clients: topClients() },
    };
  }

  /** The most requested keys, without the network, with what memory has of them. */
  #shownKeys(): object[] {
    const { topKeys, inMemory, now } = this.#dependencies;
    return topKeys.top(SHOWN_KEYS).map(({ key, share }) => {
      const entry = inMemory(key);
      const request = key.slice(key.indexOf(' ') + 1).slice(0, LONGEST_REQUEST);
      if (entry === undefined) return { request, share };
      return { request, share, answerClass: entry.head.answerClass, freshForMs: entry.freshUntil - now() };
    });
  }
}
