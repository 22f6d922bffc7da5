import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, Ticket } from '../../admission/admission.ts';
import type { Refusal } from '../../admission/guard.ts';
import type { MemoryPressure } from '../../admission/memory-pressure.ts';
import type { CacheStatus } from '../../answer/cache-status.ts';
import { type LoadRefused, NO_SOCKETS, type RefusalErrorOf, reportRefused } from '../../answer/refusal-error.ts';
import type { Wait } from '../../answer/wait.ts';
import type { PerClientLimit } from '../../clients/per-client-limit.ts';
import { type ErrorCode, failure, ProxyError } from '../../errors.ts';
import { firstTry, withClientKey, withoutOurKey } from '../../fleet/lanes.ts';
import type { ForwardedAnswer, ForwardRequest } from '../../indexer/upstream-client.ts';
import type { Flight } from '../../once/single-flight.ts';
import { type Outcome, outcomeOf } from '../../outcomes.ts';
import type { OperationsInUse } from '../../ton/operations.ts';
import type { BodyReader } from '../body-reader.ts';
import { commonHeaders } from '../public/response-message.ts';
import { clientHeaders, hasKeyHeader, returnedHeaders } from './forwarded-headers.ts';
import { hasApiKey, hidesOperation, isPassable, pathKey, withoutApiKeys } from './passable-target.ts';

const PASSED_METHODS = ['GET', 'HEAD', 'POST'] as const;
const ALLOW = [...PASSED_METHODS, 'OPTIONS'].join(', ');
const OPERATION = 'passthrough';

type AnsweredHead = Pick<ForwardedAnswer, 'status' | 'headers' | 'retryAfterMs'>;

/** A destination of requests. */
export interface PassedTo<Answer extends AnsweredHead> {
  /** Resolves when the head of the answer is there; rejects with a {@link ProxyError} or the reason of the signal. */
  readonly forward: (request: ForwardRequest) => Promise<Answer>;
  /** For requests without a key; never sent to another server. */
  readonly apiKey: string | undefined;
}

/** Events of requests for the rest of the API. */
export type PassEvent =
  | LoadRefused
  /** A request that may be joined with others got its answer. */
  | { readonly name: 'rest-answered'; readonly result: 'hit' | 'collapsed' | 'miss' | 'passed' }
  /** A client's request to the Streaming API got the head of its answer, or failed. */
  | { readonly name: 'client-stream'; readonly result: number | ErrorCode }
  /**
   * A client was refused because it has its maximum of streams, and its request names a client in a header that is not
   * read; reported once.
   */
  | { readonly name: 'streams-of-proxy'; readonly address: string; readonly header: string }
  | { readonly name: 'client-stream-ended'; readonly kind: string; readonly reason: string };

/** The common parts of pass-through and streams. */
export interface PassOnParts {
  readonly operations: OperationsInUse;
  /** Limits the misses of each client; absent without a limit. */
  readonly missLimit: PerClientLimit | undefined;
  /**
   * The admission of the cached operations: pass-through is one more operation, with its own slots and the same rate.
   */
  readonly admission: Admission;
  readonly memory: Pick<MemoryPressure, 'makeRoomIfFull'>;
  readonly refusalError: RefusalErrorOf;
  readonly bodies: BodyReader;
  readonly report: (event: PassEvent) => void;
  /** True if our API key is added to requests without a key. */
  readonly sharesOurKey: boolean;
}

export interface PassOnDependencies<Answer extends AnsweredHead> extends PassOnParts {
  /** In the order of the routes. */
  readonly upstreams: readonly PassedTo<Answer>[];
  /** The place of the only route that is used; absent for all. */
  readonly at?: number;
  readonly hasOurKey: boolean;
}

export interface PassedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query in origin form, unchanged. */
  readonly target: string;
  /** True if it asks to continue with WebSocket, and Node's HTTP server no longer reads its connection. */
  readonly isUpgrade?: boolean;
  readonly client: string;
  /**
   * Begins the wait for the head of the answer; the caller closes it. Call when the client's body has arrived, because
   * the time before that is the client's.
   */
  readonly openWait: () => Wait;
  readonly requestId: string;
  /** Its body, if that was already read. */
  readonly body?: Buffer | undefined;
  /** The flight for which it is sent, instead of its own wait. */
  readonly flight?: Flight;
  /** The header lines that are sent instead of the client's, in the flat form, without credentials. */
  readonly lines?: readonly string[];
}

/** Passes a request through. Rejects with a {@link ProxyError} while nothing was sent to the client. */
export type PassThrough = (passed: PassedRequest) => Promise<void>;

/**
 * Sends a request on, never twice, and resolves with the head of its answer, when its slot is free. Rejects with a
 * {@link ProxyError}. `takeRoom` is called before any wait: it returns why there is no room for the answer, or throws a
 * {@link ProxyError}.
 */
export type PassOn<Answer> = (passed: PassedRequest, takeRoom: () => Refusal | undefined) => Promise<Answer>;

/** Builds {@link PassOn}. */
export function passOnWith<Answer extends AnsweredHead>(dependencies: PassOnDependencies<Answer>): PassOn<Answer> {
  const { operations, admission, bodies, upstreams, at, memory, missLimit, refusalError, report } = dependencies;
  const { hasOurKey, sharesOurKey } = dependencies;
  const ours = firstTry(at);
  // Where our key is shared, a client that invents a key must not escape its limits: the other side sees our address.
  const ofClient = sharesOurKey ? withoutOurKey(ours) : withClientKey(ours);
  const ofNobody = hasOurKey && !sharesOurKey ? withoutOurKey(ours) : ours;
  return async ({ request, target, isUpgrade, client, openWait, requestId, flight, lines, ...passed }, takeRoom) => {
    const method = methodOf(request, target, operations, isUpgrade);
    const limited = missLimit?.take(client);
    if (limited !== undefined) {
      report({ name: 'load-refused', operation: OPERATION, reason: 'client-limit' });
      throw limited;
    }
    // The client's own key, as header or parameter, takes precedence over ours.
    const hasItsOwn = hasKeyHeader(request.headers) || hasApiKey(target);
    const key = pathKey(method, target);
    const entering = {
      operation: OPERATION,
      key,
      clients: flight?.clients ?? [client],
      lane: hasItsOwn ? ofClient : ofNobody,
    };
    memory.makeRoomIfFull();
    // Before the client's body is read. Room that was taken may have cost another client its own.
    const refusal = admission.refusal(entering) ?? takeRoom();
    const refuse = (why: Refusal) => {
      const error = refusalError(entering, why);
      reportRefused(entering, error, report);
      return error;
    };
    if (refusal !== undefined) throw refuse(refusal);
    const body = passed.body ?? (method === 'POST' ? await bodies.read(request) : undefined);
    const wait = flight ?? openWait();
    const { signal } = wait;
    const refused = (why: Refusal) => (why.reason === 'abandoned' ? signal.reason : refuse(why));
    try {
      const ticket = await admission.enter({ ...entering, sentFor: wait });
      if ('reason' in ticket) throw refused(ticket);
      const go = ticket.send();
      if (go !== 'go') throw refused(go);
      flight?.depart();
      const { index, isBackup } = ticket.route;
      const upstream = upstreams[index] as PassedTo<Answer>;
      const ourKey = !hasItsOwn && sharesOurKey && upstream.apiKey !== undefined ? ['x-api-key', upstream.apiKey] : [];
      const its = lines ?? clientHeaders(request, !isBackup && ourKey.length === 0);
      const headers = [...its, 'x-request-id', requestId, ...ourKey];
      const sent = ourKey.length > 0 ? withoutApiKeys(target) : target;
      return await forward({ method, target: sent, headers, body, isUpgrade, signal }, upstream, ticket);
    } catch (error) {
      throw error instanceof ProxyError && error.details.reason === 'sockets' ? refuse(NO_SOCKETS) : error;
    } finally {
      // The body of the answer has no deadline as a whole: only each pause in it is bounded.
      if ('close' in wait) wait.close();
    }
  };
}

/** The headers of an answer for its client, in the flat form. */
export function passedHeaders(
  { status, headers }: Pick<AnsweredHead, 'status' | 'headers'>,
  requestId: string,
  cacheStatus: CacheStatus = { fwd: 'bypass', fwdStatus: status },
): string[] {
  const cacheControl = headers['cache-control'] === undefined ? ['Cache-Control', 'no-store'] : [];
  const ours = commonHeaders({ cacheStatus, vary: '', requestId });
  return [...returnedHeaders(headers), ...cacheControl, ...ours];
}

async function forward<Answer extends AnsweredHead>(
  request: ForwardRequest,
  upstream: PassedTo<Answer>,
  ticket: Pick<Ticket, 'learn' | 'free'>,
): Promise<Answer> {
  let outcome: Outcome = 'unknown';
  let answer: Answer | undefined;
  try {
    answer = await upstream.forward(request);
    outcome = passedOutcome(answer.status);
    return answer;
  } catch (error) {
    // A client that leaves shows nothing about the indexer, which is still working on its request.
    if (error instanceof ProxyError && !request.signal.aborted) outcome = outcomeOf(error);
    throw error;
  } finally {
    ticket.learn(outcome, answer?.retryAfterMs);
    ticket.free();
  }
}

/** Why no request for a target may be passed through; `undefined` if one may be. */
export function refusedTarget(target: string, operations: OperationsInUse): ProxyError | undefined {
  if (!isPassable(target)) return failure('bad-request', { text: 'ambiguous-path' });
  const [path = ''] = target.split('?', 1);
  return hidesOperation(path, operations) ? failure('bad-request', { text: 'encoded-letters' }) : undefined;
}

/** The method of a request that may be passed through; throws a {@link ProxyError} for any other. */
function methodOf(
  request: IncomingMessage,
  target: string,
  operations: OperationsInUse,
  isUpgrade = false,
): (typeof PASSED_METHODS)[number] {
  const refused = refusedTarget(target, operations);
  if (refused !== undefined) throw refused;
  // Another protocol is only offered (RFC 9110 7.8): Java's client offers h2c with each request, and accepts any
  // answer.
  if (!isUpgrade && asksForWebSocket(request)) {
    throw failure('bad-request', { text: 'upgrade' });
  }
  const method = PASSED_METHODS.find((passed) => passed === request.method);
  if (method === undefined) throw failure('method-not-allowed', { values: { methods: ALLOW }, allow: ALLOW });
  return method;
}

export function asksForWebSocket({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return /\bwebsocket\b/i.test(headers.upgrade ?? '');
}

/** A client may send its own key, so a 401 or 403 shows nothing about the indexer: only a 429 and a 5xx do. */
function passedOutcome(status: number): Outcome {
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'failed' : 'answered';
}
