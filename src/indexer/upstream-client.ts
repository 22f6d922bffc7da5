import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { type ErrorCode, failure, ProxyError } from '../errors.ts';
import { connectorBy } from '../names/connector.ts';
import type { Names } from '../names/names.ts';
import type { EpochMs, MonotonicMs, Ms } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { targetOf } from '../ton/operations.ts';
import { USER_AGENT } from '../version.ts';
import { ageValueSeconds, isAged } from './age.ts';
import { Connection } from './connection.ts';
import type { OurCredentials } from './credentials.ts';
import { forwarded } from './forwarded-request.ts';
import { located, redirectHost } from './location.ts';
import { basesAt, pathAt } from './path-at.ts';
import { decoded, type RawAnswer, readAnswer, timedOut } from './read-answer.ts';
import { retryAfterMs } from './retry-after.ts';
import type { MayRepeat } from './sent-request.ts';
import { shownWords } from './shown-words.ts';

export interface UpstreamClientDependencies {
  readonly now: () => EpochMs;
  readonly names: Names;
  /** The indexer's address, without `/api/v3`; one that ends in `/v3` as {@link pathAt} reads it. */
  readonly baseUrl: URL;
  /** Sent with requests for operations, and never shown. */
  readonly ours: OurCredentials | undefined;
  /** From the start of a request, with the wait for a connection, to the last byte of its answer. */
  readonly timeoutMs: Ms;
  readonly maxConnections: number;
  /**
   * The maximum number of connections for pass-through. They are separate, because clients that read slowly hold them.
   */
  readonly maxForwardConnections: number;
  /** The largest body that is read, before and after decompression. */
  readonly maxBodyBytes: number;
  /**
   * The time for which an idle connection is kept: shorter than the indexer's, otherwise a request may meet a closing
   * connection.
   */
  readonly keepAliveMs: Ms;
  /** After this time a connection is replaced, so that a changed DNS record takes effect. */
  readonly connectionLifetimeMs: Ms;
  /**
   * Takes the right to send a request once more, on a new connection, after it met the end of an idle one. Absent
   * without a rate limit: then it is sent immediately.
   */
  readonly mayRepeat?: MayRepeat | undefined;
  /** Called with the change in the number of bytes kept of incomplete answers. */
  readonly onReading: (change: number) => void;
  /** Called for each request that was sent, or could not be sent. */
  readonly report: (event: UpstreamEvent) => void;
}

/** One request to the indexer, parameters in canonical form and not yet encoded. */
export interface UpstreamRequest {
  readonly operation: string;
  readonly query: Pairs;
  readonly headers: Pairs;
  /** JSON, of a `POST`; absent for a `GET`. */
  readonly body?: string | undefined;
  /** True for this process's own head poll: no client waits for the answer. */
  readonly isForHead?: true;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly apiVersion: string | undefined;
  readonly retryAfterMs: Ms | undefined;
  /** Its words for operators, if it is an error or not a JSON object. */
  readonly says?: IndexerWords | undefined;
  /** Its `Age`, in whole seconds: how long other caches have had it, 0 where it comes from the indexer itself. */
  readonly ageValueSeconds: number;
  /** Set if it has an `Age`: other caches may have had it for up to a second longer. */
  readonly isAged?: true | undefined;
  /** Absent where it was not sent. */
  readonly cacheStatus?: string | undefined;
  /** Complete and decompressed; empty if the status decides alone. */
  readonly body: Buffer;
  readonly askedAt: EpochMs;
  readonly receivedAt: number;
}

/** The words of an indexer's error, for operators. */
export interface IndexerWords {
  /** See {@link shownWords}. */
  readonly words: string | undefined;
  /** The pause that it demands; toncache may pause for less. */
  readonly retryAfterMs: Ms | undefined;
}

/** A request that is passed through. */
export interface ForwardRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Path and query, byte for byte. */
  readonly target: string;
  /** In the flat form, without `User-Agent`. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  /** True if it asks to continue with WebSocket on its connection. Only streams do. */
  readonly isUpgrade?: boolean | undefined;
  /** True if it changes nothing: it is sent once more if it meets the end of an idle connection. Streams have none. */
  readonly mayRepeat?: boolean;
  /** Aborts the request and its answer, which then fail with its reason. */
  readonly signal: AbortSignal;
}

/** An answer whose body is still to come. */
export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly retryAfterMs: Ms | undefined;
  readonly body: Readable;
  /** See `LocatedHeaders`. */
  readonly leadsTo: string | undefined;
}

/** A request was answered, or failed. */
export type UpstreamEvent = {
  /** The host and port of the indexer. */
  readonly indexer: string;
  readonly operation: string;
  readonly isForHead?: true | undefined;
  readonly ms: Ms;
} & (
  | { readonly name: 'upstream-answered'; readonly status: number; readonly says?: IndexerWords | undefined }
  | { readonly name: 'upstream-failed'; readonly code: ErrorCode; readonly cause: unknown }
  /** It was not sent: this machine lacks descriptors, ports or memory. */
  | { readonly name: 'upstream-unsent'; readonly cause: unknown }
);

const PASS_THROUGH: ReportedRequest = { operation: 'passthrough' };

type ReportedRequest = Pick<UpstreamRequest, 'operation' | 'isForHead'>;

/** Gateways add cookies, policies and timings: undici's default of 16 KiB is too small. */
export const MAX_HEAD_BYTES = 64 * 1024;

// eslint-disable-next-line no-restricted-syntax -- what is measured is a socket, which has no other clock
const monotonic = (): MonotonicMs => performance.now();

const OUR_AGENT = ['user-agent', USER_AGENT];
const OF_JSON = ['content-type', 'application/json'];
const FIXED_HEADERS = ['accept', 'application/json', 'accept-encoding', 'gzip', ...OUR_AGENT];

/**
 * The indexer's API over two pools of persistent connections, one for the operations and one for pass-through. Does not
 * follow redirects and keeps no cookies.
 */
export class UpstreamClient {
  /** Host and port. */
  readonly name: string;
  readonly #dependencies: UpstreamClientDependencies;
  readonly #pool: Pool;
  readonly #forwardPool: Pool;
  readonly #basePath: string;
  readonly #fixedHeaders: readonly string[];
  #closed = false;

  constructor(dependencies: UpstreamClientDependencies) {
    this.#dependencies = dependencies;
    this.name = dependencies.baseUrl.host;
    this.#basePath = dependencies.baseUrl.pathname;
    this.#fixedHeaders = [...FIXED_HEADERS, ...(dependencies.ours?.headers ?? [])];
    this.#pool = this.#openPool(dependencies.maxConnections);
    this.#forwardPool = this.#openPool(dependencies.maxForwardConnections);
  }

  /**
   * Sends one request and reads its answer to the end. Throws a {@link ProxyError}: `upstream-timeout`,
   * `upstream-unreachable`, `upstream-reset`, `upstream-too-large`, or `upstream-invalid` for a body that was truncated
   * or cannot be decompressed; `overloaded` if this machine has no descriptor, port or memory for it; `shutting-down` once
   * the client is closed. `atMostMs`: a shorter timeout for this request.
   */
  async fetch(request: UpstreamRequest, atMostMs = Number.POSITIVE_INFINITY): Promise<UpstreamAnswer> {
    const { now, maxBodyBytes, onReading, mayRepeat } = this.#dependencies;
    const askedAt = now();
    const startedAt = monotonic();
    const timeoutMs = Math.min(this.#dependencies.timeoutMs, atMostMs);
    try {
      const sent = {
        path: pathAt(this.#basePath, targetOf(request.operation, request.query)),
        // In the flat form, which undici reads without building an object.
        headers: [...this.#fixedHeaders, ...(request.body === undefined ? [] : OF_JSON), ...request.headers.flat()],
        body: request.body,
      };
      const answer = await readAnswer(this.#pool, sent, { timeoutMs, maxBodyBytes, onReading, mayRepeat });
      const encoding = header(answer, 'content-encoding');
      const body = encoding === undefined ? answer.body : await decoded(answer.body, encoding, maxBodyBytes);
      // A process that was suspended reads its sockets before it runs its timers, so the timeout may not have fired.
      if (monotonic() - startedAt > timeoutMs) throw timedOut();
      const receivedAt = now();
      const waitMs = retryAfterMs(header(answer, 'retry-after'), receivedAt);
      const isWords = isError(answer.status) || isForeign(answer.status, body);
      const host = redirectHost(answer.status, header(answer, 'location'), this.#dependencies.baseUrl.origin);
      const says = isWords ? this.#saysOf(answer, encoding, waitMs) : saysToHost(host);
      this.#answered(request, startedAt, answer.status, says);
      return {
        status: answer.status,
        contentType: header(answer, 'content-type'),
        apiVersion: header(answer, 'x-api-version'),
        cacheStatus: header(answer, 'cache-status', ', '),
        retryAfterMs: waitMs,
        says,
        ageValueSeconds: ageValueSeconds(header(answer, 'age')),
        isAged: isAged(header(answer, 'age')) ? true : undefined,
        body,
        // The clock may have been set back between the two.
        askedAt: Math.min(askedAt, receivedAt),
        receivedAt,
      };
    } catch (error) {
      throw this.#failed(request, startedAt, error);
    }
  }

  /**
   * Sends a request unchanged, with our `User-Agent`, and returns when the head of its answer is there. `UPSTREAM_TIMEOUT` bounds the wait for
   * the head and every pause of the body. Throws a {@link ProxyError} or the signal's reason.
   */
  async forward({ method, target, headers, body, mayRepeat, signal }: ForwardRequest): Promise<ForwardedAnswer> {
    const { now, timeoutMs } = this.#dependencies;
    const repeats = mayRepeat === true ? (this.#dependencies.mayRepeat ?? 'at once') : 'never';
    const startedAt = monotonic();
    try {
      const sent = {
        method,
        path: pathAt(this.#basePath, target),
        headers: [...headers, ...OUR_AGENT],
        body: body ?? null,
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      };
      const response = await forwarded(this.#forwardPool, sent, repeats);
      const { statusCode: status } = response;
      const { origin, pathname } = this.#dependencies.baseUrl;
      const { headers: own, leadsTo } = located(status, response.headers, {
        origin,
        path: sent.path,
        ...basesAt(pathname),
      });
      this.#answered(PASS_THROUGH, startedAt, status, saysToHost(leadsTo));
      return {
        status,
        headers: own,
        leadsTo,
        retryAfterMs: retryAfterMs(header(response, 'retry-after'), now()),
        body: response.body,
      };
    } catch (cause) {
      if (!signal.aborted) throw this.#failed(PASS_THROUGH, startedAt, cause);
      const { reason } = signal;
      // The wait began before the request was sent, so it usually ends before undici's own timeout.
      throw isTimeout(reason) ? this.#failed(PASS_THROUGH, startedAt, reason) : reason;
    }
  }

  /** Closes all connections; requests under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#pool.destroy(), this.#forwardPool.destroy()]);
  }

  #answered(
    { operation, isForHead }: ReportedRequest,
    startedAt: MonotonicMs,
    status: number,
    says?: IndexerWords,
  ): void {
    // Each miss reports this: a literal costs less than parts that are spread into it.
    const [indexer, ms] = [this.name, monotonic() - startedAt];
    this.#dependencies.report({ name: 'upstream-answered', indexer, operation, isForHead, ms, status, says });
  }

  #saysOf({ words, body }: RawAnswer, encoding: string | undefined, waitMs: Ms | undefined): IndexerWords {
    const secrets = this.#dependencies.ours?.secrets ?? [];
    return { words: shownWords(words ?? body, encoding, secrets), retryAfterMs: waitMs };
  }

  /** Reports a failure, and returns the error for the caller. */
  #failed({ operation, isForHead }: ReportedRequest, startedAt: MonotonicMs, thrown: unknown): unknown {
    // This process closed the connection, which shows nothing about the indexer.
    const error = this.#closed && !isTimeout(thrown) ? failure('shutting-down', { cause: thrown }) : thrown;
    if (!(error instanceof ProxyError)) return error;
    const { code, cause } = error;
    const request = { indexer: this.name, operation, isForHead, ms: monotonic() - startedAt };
    this.#dependencies.report(
      code === 'overloaded'
        ? { name: 'upstream-unsent', ...request, cause }
        : { name: 'upstream-failed', ...request, code, cause },
    );
    return error;
  }

  #openPool(connections: number): Pool {
    const { names, baseUrl, keepAliveMs, connectionLifetimeMs, timeoutMs } = this.#dependencies;
    return new Pool(baseUrl.origin, {
      connections,
      maxHeaderSize: MAX_HEAD_BYTES,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      clientTtl: connectionLifetimeMs,
      connect: connectorBy(names, timeoutMs),
      allowH2: false,
      // One timer covers the whole request; undici's own would only add two more.
      headersTimeout: 0,
      bodyTimeout: 0,
      factory: (origin, options) => new Connection(origin, options),
    });
  }
}

/** The words for a redirect: without its path, which may contain a key. */
const saysToHost = (host: string | undefined): IndexerWords | undefined =>
  host === undefined ? undefined : { words: `to ${host}`, retryAfterMs: undefined };

/** True if an answer with this status has words for operators: a 404 is an answer. */
const isError = (status: number): boolean => status >= 400 && status !== 404;

/** True if an answer does not belong to the API at all: a web server sent it in the indexer's place. */
const isForeign = (status: number, body: Buffer): boolean =>
  status === 200 && body.length > 0 && body[0] !== '{'.charCodeAt(0);

/** Of several lines of one name the first, or all joined by `separator`. */
function header({ headers }: Pick<RawAnswer, 'headers'>, name: string, separator?: string): string | undefined {
  const value = headers[name];
  if (!Array.isArray(value)) return value;
  return separator === undefined ? value[0] : value.join(separator);
}

function isTimeout(error: unknown): boolean {
  return error instanceof ProxyError && error.code === 'upstream-timeout';
}
