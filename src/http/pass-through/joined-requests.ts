import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { ownedBytes } from '../../cache/entry.ts';
import { failure, ProxyError } from '../../errors.ts';
import type { ForwardedAnswer } from '../../indexer/upstream-client.ts';
import { type Flight, SingleFlight } from '../../once/single-flight.ts';
import type { MonotonicMs, Ms } from '../../time-units.ts';
import { MOST_BODY_BYTES } from '../../ton/operation.ts';
import { OPERATION_NAMES } from '../../ton/operation-names.ts';
import { OPERATIONS, OperationsInUse } from '../../ton/operations.ts';
import { acceptsGzip, isBelow, parseTarget } from '../parse-request.ts';
import { sendMessage } from '../public/response-message.ts';
import { clientHeaders, mayHaveKeyHeader } from './forwarded-headers.ts';
import { asksForWebSocket, type PassedEnd, type PassedRequest, type PassOnParts, type PassThrough } from './pass-on.ts';
import { type OpenPassThrough, transfer } from './pass-through.ts';
import { hasApiKey, hidesOperation, pathKey, runsGetMethod } from './passable-target.ts';

/** Kept answers use at most this part of the memory tier. */
export const REST_SHARE_OF_MEMORY = 1 / 10;

/** The time for which the answer to a GET is kept after its arrival, if its path is not that of an operation. */
const KEPT_MS: Ms = 400;

/**
 * A get-method reads the newest state, which its client may have just seen to change: its answer is not kept, and its
 * load can be joined only for this time after it was sent.
 */
const GET_METHOD_SENT_WITHIN_MS: Ms = 100;

/** The memory of a kept answer in addition to its key and body. */
const OVERHEAD_BYTES = 2048;

const API = ['/api/v3/'];
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;

/** All operations, including those not in use. */
const KNOWN = new OperationsInUse(OPERATION_NAMES);

/** Lists of the same things, pending and not. */
const ROWS_MOVE: ReadonlySet<string> = new Set(
  ['actions', 'pendingActions', 'pendingTransactions'].map((name) => pathKey('GET', `/api/v3/${name}`)),
);

/** Headers of a request that distinguish answers: those of the operations, and those about the form of its body. */
const IN_KEY = new Set([
  ...['content-type', 'content-encoding'],
  ...[...OPERATIONS.values()].flatMap(({ headerNames }) => [...headerNames]),
]);

/** A request with one of these headers is never joined: it asks for an answer of its own. */
const ALONE = /^(?:authorization|last-event-id|range|if-.*)$/;

/** Answers without a body, whose `Content-Length` would be wrong (RFC 9110 8.6). */
const NO_LENGTH: ReadonlySet<number> = new Set([204, 304]);

export interface JoinedRequestsDependencies extends Pick<PassOnParts, 'bodies' | 'admission' | 'report'> {
  readonly passThrough: OpenPassThrough;
  readonly now: () => MonotonicMs;
  /** The time for which a load can be joined. */
  readonly collapseWindowMs: Ms;
  /** The most bytes of all kept answers. */
  readonly maxKeptBytes: number;
  /** The largest answer that is shared. */
  readonly maxAnswerBytes: number;
  /** Called with the change in the number of answer bytes that are being read. */
  readonly onReading: (change: number) => void;
}

/** An answer that was read whole. */
type WholeAnswer = Omit<ForwardedAnswer, 'body'> & { readonly body: Buffer; readonly isKept: boolean };

/** An answer that is not shared: the request that began the load has it, and each other one must be sent by itself. */
interface Alone {
  readonly isAlone: true;
  /** Absent if nobody waited for it. */
  readonly status?: number;
}

/** The result of a load. */
type SharedLoad = WholeAnswer | ProxyError | Alone;

interface Kept {
  readonly answer: WholeAnswer;
  readonly until: MonotonicMs;
}

/**
 * Joins equal requests for the rest of the API: `GET` below `/api/v3/`, and `POST runGetMethod`. Requests that arrive
 * during the first one get its answer, whatever its status. Requests within 400 ms after it get the answer too, if it is
 * a 200 to a GET and its path may be kept ({@link mayKeep}). The first one is sent like any passed-through request.
 */
export class JoinedRequests {
  readonly #dependencies: JoinedRequestsDependencies;
  readonly #flights: SingleFlight<SharedLoad>;
  readonly #kept: LRUCache<string, Kept>;
  /** Part of each key: requests before and after a purge have different keys. */
  #purges = 0;

  constructor(dependencies: JoinedRequestsDependencies) {
    this.#dependencies = dependencies;
    this.#flights = new SingleFlight({
      onFollowed: (flight, client) => dependencies.admission.join(flight, client),
      keptMs: () => 0,
      now: dependencies.now,
      collapseWindowMs: dependencies.collapseWindowMs,
    });
    this.#kept = new LRUCache({
      maxSize: dependencies.maxKeptBytes,
      sizeCalculation: ({ answer }, key) => answer.body.length + key.length + OVERHEAD_BYTES,
    });
  }

  /** Ends all kept answers; loads under way are only for their present waiters. Call at each purge. */
  readonly forget = (): void => {
    this.#purges++;
    this.#kept.clear();
  };

  readonly pass: PassThrough = async (passed) => {
    const { passThrough, bodies, report, now } = this.#dependencies;
    if (!mayJoin(passed)) return passThrough.pass(passed);
    const isPosted = passed.request.method === 'POST';
    const body = passed.body ?? (isPosted ? await bodies.read(passed.request) : undefined);
    const asked = { ...passed, body };
    if (body !== undefined && body.length > MOST_BODY_BYTES) return passThrough.pass(asked);
    const lines = sharedLines(asked.request);
    const key = `${this.#purges} ${keyOf(asked, lines)}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && now() < kept.until) return this.#send(kept.answer, passed, 'hit');
    const wait = passed.openWait();
    try {
      const end = await this.#flights.join(
        key,
        wait,
        (flight) =>
          this.#load(
            { ...asked, flight, lines: [...lines, ...tracesOf(asked.request)] },
            key,
            () => wait.reason === undefined,
          ),
        body === undefined ? undefined : GET_METHOD_SENT_WITHIN_MS,
      );
      if (end.state === 'left') throw wait.reason ?? failure('internal');
      const { value, collapsed } = end;
      if (value instanceof ProxyError) throw value;
      if (!('isAlone' in value)) return this.#send(value, passed, collapsed ? 'collapsed' : 'miss');
      report({ name: 'rest-answered', result: 'passed' });
      if (collapsed) return await passThrough.pass({ ...asked, openWait: () => wait });
      return { outcome: 'miss', status: value.status ?? 0, isOurs: true };
    } finally {
      wait.close();
    }
  };

  /** `isWaiting`: true while the client that began it waits. Rejects only with bugs. */
  #load(
    asked: PassedRequest & { readonly flight: Flight },
    key: string,
    isWaiting: () => boolean,
  ): Promise<SharedLoad> {
    return new Promise((resolve, reject) => {
      const load = this.#dependencies.passThrough.take(asked, async (answer) => {
        // A body that is destroyed before its end emits an error, which nobody reads after its client has left.
        answer.body.on('error', () => {});
        const body = await this.#readWhole(answer);
        if (Buffer.isBuffer(body)) {
          resolve(this.#keep({ ...answer, body }, asked, key));
          return;
        }
        resolve({ isAlone: true, status: answer.status });
        // A generator that waits for the next bytes is not ended by its reader.
        asked.response.once('close', () => answer.body.destroy());
        if (isWaiting()) await transfer({ ...answer, body }, asked);
        else answer.body.destroy();
      });
      load.catch((error: unknown) => {
        if (error instanceof ProxyError) resolve(error);
        else if (asked.flight.isAbandoned) resolve({ isAlone: true });
        else reject(error as Error);
      });
    });
  }

  /**
   * The body, or, for an answer that is not JSON or too large, its bytes as they arrive. Rejects with a {@link
   * ProxyError}.
   */
  async #readWhole({ headers, body }: ForwardedAnswer): Promise<Buffer | AsyncIterable<Buffer>> {
    const { maxAnswerBytes, onReading } = this.#dependencies;
    const isTooLarge = Number(headers['content-length'] ?? 0) > maxAnswerBytes;
    if (isTooLarge || !JSON_TYPE.test(headers['content-type'] ?? '')) return body;
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        bytes += chunk.length;
        onReading(chunk.length);
        if (bytes > maxAnswerBytes) return following(chunks, body);
      }
      return ownedBytes(Buffer.concat(chunks));
    } catch (cause) {
      throw failure('upstream-invalid', { text: 'cut-short', cause });
    } finally {
      onReading(-bytes);
    }
  }

  /** Keeps a 200 to a GET, unless its path is that of an operation, or a purge has come since its request. */
  #keep(whole: Omit<WholeAnswer, 'isKept'>, asked: PassedRequest, key: string): WholeAnswer {
    const isCurrent = key.startsWith(`${this.#purges} `);
    const answer = { ...whole, isKept: whole.status === 200 && isCurrent && mayKeep(asked) };
    if (answer.isKept) this.#kept.set(key, { answer, until: this.#dependencies.now() + KEPT_MS });
    return answer;
  }

  #send(
    answer: WholeAnswer,
    { request, response, headersOf }: PassedRequest,
    result: 'hit' | 'collapsed' | 'miss',
  ): PassedEnd {
    this.#dependencies.report({ name: 'rest-answered', result });
    const { status, body, isKept: stored } = answer;
    const end: PassedEnd = { outcome: result === 'hit' ? 'hit-memory' : result, status, isOurs: true };
    if (response.destroyed) return end;
    const length = NO_LENGTH.has(status) ? undefined : String(body.length);
    const headers = { ...answer.headers, 'content-length': length };
    const cacheStatus =
      result === 'hit'
        ? ({ hit: true, ttl: 0, detail: 'memory' } as const)
        : ({ fwd: 'miss', fwdStatus: status, stored, collapsed: result === 'collapsed' } as const);
    sendMessage(request, response, { status, headers: headersOf({ status, headers }, cacheStatus), body });
    return end;
  }
}

/** The head of a request that is passed through. */
interface PassedRequestHead {
  readonly request: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders };
  readonly target: string;
}

/** True if a request may be joined with others, judged by its head. */
export function mayJoin({ request, target }: PassedRequestHead): boolean {
  const { method, headers } = request;
  const isJoined =
    method === 'GET'
      ? isBelow(API, parseTarget(target))
      : runsGetMethod(method, target) && Number(headers['content-length'] ?? 0) <= MOST_BODY_BYTES;
  const isItsOwn =
    mayHaveKeyHeader(request) || hasApiKey(target) || Object.keys(headers).some((name) => ALONE.test(name));
  return isJoined && !isItsOwn && !asksForWebSocket(request);
}

/**
 * False for a get-method, for a list from which rows move to another one, and for a path that some server may read as that
 * of an operation: a wallet that no longer finds a pending trace requests `traces`, where an empty list of the time before
 * would be a gap between the two.
 */
function mayKeep({ request: { method }, target }: PassedRequest): boolean {
  const { path } = parseTarget(target);
  const isMoving = ROWS_MOVE.has(pathKey('GET', target));
  return method === 'GET' && !isMoving && KNOWN.at(path) === undefined && !hidesOperation(path, KNOWN);
}

/**
 * The header lines of a request that distinguish answers, which are all that its load sends: a client that did not send
 * the others gets the answer, too. Of the codings only gzip is requested, if the clients that share the answer accept it.
 */
function sharedLines(request: PassedRequest['request']): string[] {
  const coding = acceptsGzip(request.headers['accept-encoding']) ? 'gzip' : 'identity';
  return ['accept-encoding', coding, ...linesNamed(request, IN_KEY)];
}

/** The trace of the request that a load is sent for. It changes no answer. */
function tracesOf(request: PassedRequest['request']): string[] {
  return linesNamed(request, new Set(['traceparent']));
}

function linesNamed(request: PassedRequest['request'], names: ReadonlySet<string>): string[] {
  const lines = clientHeaders(request, 'none');
  return lines.filter((_, index) => names.has(lines[index - (index % 2)] ?? ''));
}

/** The order of lines with different names says nothing (RFC 9110 5.3). */
function keyOf({ request: { method }, target, body }: PassedRequest, lines: readonly string[]): string {
  const pairs = lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1]]] : []));
  const sorted = pairs.toSorted(([one = ''], [other = '']) => (one < other ? -1 : Number(one > other)));
  return JSON.stringify([method, questionIn(target), sorted, body?.toString('latin1') ?? '']);
}

/**
 * A target without the pieces of its query that ask for nothing: `_` and `_=...`, which clients add against caches, and
 * an empty `api_key=`. A query with a semicolon stays as it is: the indexer takes it as part of a value, other servers as
 * a separator.
 */
function questionIn(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0 || target.includes(';', mark)) return target;
  const pieces = target.slice(mark + 1).split('&');
  const asking = pieces.filter((piece) => piece !== '_' && !piece.startsWith('_=') && piece !== 'api_key=');
  return asking.length === 0 ? target.slice(0, mark) : `${target.slice(0, mark)}?${asking.join('&')}`;
}

/** The read part of a body, then the rest of it. */
async function* following(chunks: readonly Buffer[], body: ForwardedAnswer['body']): AsyncGenerator<Buffer> {
  yield* chunks;
  yield* body as AsyncIterable<Buffer>;
}
