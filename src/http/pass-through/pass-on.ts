import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from '../../admission/admission.ts';
import type { Refusal } from '../../admission/guard.ts';
import type { MemoryPressure } from '../../admission/memory-pressure.ts';
import { FIRST_TRY, type SendRules } from '../../admission/send-rules.ts';
import type { Ticket } from '../../admission/ticket.ts';
import type { CacheStatus } from '../../answer/cache-status.ts';
import type { RequestOutcome } from '../../answer/phase.ts';
import { type LoadRefused, NO_SOCKETS, type RefusalErrorOf, reportRefused } from '../../answer/refusal-error.ts';
import type { Wait } from '../../answer/wait.ts';
import type { PerClientLimit } from '../../clients/per-client-limit.ts';
import { type ErrorCode, failure, ProxyError } from '../../errors.ts';
import type { OurCredentials } from '../../indexer/credentials.ts';
import type { ForwardedAnswer, ForwardRequest } from '../../indexer/upstream-client.ts';
import type { Flight } from '../../once/single-flight.ts';
import { OUTCOMES, type Outcome, outcomeOf } from '../../outcomes.ts';
import type { OperationsInUse } from '../../ton/operations.ts';
import type { BodyReader } from '../body-reader.ts';
import { returnedHeaders } from '../public/response-headers.ts';
import { clientHeaders, hasKeyHeader } from './forwarded-headers.ts';
import { hasApiKey, hidesOperation, isPassable, pathKey, runsGetMethod, withoutApiKeys } from './passable-target.ts';
import { type ReadPassed, readPassed } from './read-passed.ts';

const PASSED_METHODS = ['GET', 'HEAD', 'POST'] as const;
const ALLOW = [...PASSED_METHODS, 'OPTIONS'].join(', ');
const OPERATION = 'passthrough';

/** A destination of requests. */
export interface PassedTo<Answer extends ForwardedAnswer> {
  /** Resolves when the head of the answer is there; rejects with a {@link ProxyError} or the reason of the signal. */
  readonly forward: (request: ForwardRequest) => Promise<Answer>;
  /** For requests without a key; never sent to another server. */
  readonly ours: OurCredentials | undefined;
  /** Its host and port, for its failures; absent for the only indexer. */
  readonly name?: string | undefined;
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
  /** True if our credentials are added to requests without a key. */
  readonly sharesOurKey: boolean;
}

export interface PassOnDependencies<Answer extends ForwardedAnswer> extends PassOnParts {
  /** In the order of the routes. */
  readonly upstreams: readonly PassedTo<Answer>[];
  /** The place of the only route that is used; absent for all. */
  readonly at?: number;
  readonly hasOurKey: boolean;
  /** True if a request that changes nothing may be sent once more. */
  readonly repeats: boolean;
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
  /** The headers that its client gets with an answer, in the flat form. Default for `cacheStatus`: `bypass`. */
  readonly headersOf: (answer: Pick<ForwardedAnswer, 'status' | 'headers'>, cacheStatus?: CacheStatus) => string[];
  /** Its body, if that was already read. */
  readonly body?: Buffer | undefined;
  /** The flight for which it is sent, instead of its own wait. */
  readonly flight?: Flight;
  /** The header lines that are sent instead of the client's, in the flat form, without credentials. */
  readonly lines?: readonly string[];
}

/** How a request that was passed through was answered. */
export interface PassedEnd {
  readonly outcome: Extract<RequestOutcome, 'hit-memory' | 'collapsed' | 'miss'>;
  readonly status: number;
  /** True if it was sent without credentials of its client: then a failure of the indexer concerns this proxy. */
  readonly isOurs: boolean;
}

/** Passes a request through. Rejects with a {@link ProxyError} while nothing was sent to the client. */
export type PassThrough = (passed: PassedRequest) => Promise<PassedEnd>;

/**
 * Sends a request on, and resolves with the head of its answer, when its slot is free. Rejects with a {@link ProxyError}.
 * `again` in {@link OUTCOMES} decides whether a request that changes nothing is sent once more. `takeRoom` is called
 * before any wait: it returns why there is no room for the answer, or throws a {@link ProxyError}.
 */
export type PassOn<Answer> = (
  passed: PassedRequest,
  takeRoom: () => Refusal | undefined,
) => Promise<AnswerPassedOn<Answer>>;

/** `isOurs` as in {@link PassedEnd}. */
export type AnswerPassedOn<Answer> = Pick<PassedEnd, 'isOurs'> & { readonly answer: Answer };

/** Builds {@link PassOn}. */
export function passOnWith<Answer extends ForwardedAnswer>(dependencies: PassOnDependencies<Answer>): PassOn<Answer> {
  const { operations, admission, bodies, upstreams, at, memory, missLimit, refusalError, report } = dependencies;
  const { hasOurKey, sharesOurKey, repeats } = dependencies;
  const firstTry: SendRules = { ...FIRST_TRY, at };
  // Where our key is shared, a client that invents a key must not escape its limits: the other side sees our address.
  const ofClient: SendRules = { ...firstTry, isOurs: false, rate: sharesOurKey ? 'own' : 'none' };
  const ofNobody: SendRules = { ...firstTry, isOurs: sharesOurKey || !hasOurKey };
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
    const rules = hasItsOwn ? ofClient : ofNobody;
    const entering = { ...rules, operation: OPERATION, key, clients: flight?.clients ?? [client] };
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
    const mayRepeat = repeats && (method !== 'POST' || runsGetMethod(method, target));
    const send = async (ticket: Ticket): Promise<PassedTry<Answer> | Refusal> => {
      const go = ticket.send();
      if (go !== 'go') return go;
      flight?.depart();
      const { index, isBackup } = ticket.route;
      const upstream = upstreams[index] as PassedTo<Answer>;
      const { ours } = upstream;
      const ourKey = !hasItsOwn && sharesOurKey ? (ours?.headers ?? []) : [];
      const hadOurKey = ourKey.length > 0;
      // A client's `Authorization` would take the place of our login.
      const its = lines ?? clientHeaders(request, isBackup || hadOurKey ? 'none' : ours?.hasLogin ? 'key' : 'all');
      const isOurs = !hasItsOwn && !its.some((name, at) => at % 2 === 0 && name === 'authorization');
      const headers = [...its, 'x-request-id', requestId, ...ourKey];
      const sent = hadOurKey ? withoutApiKeys(target) : target;
      const asked = { method, target: sent, headers, body, isUpgrade, mayRepeat, signal };
      return { ...(await forward(asked, upstream, ticket, hadOurKey)), index, isOurs };
    };
    const enter = async (asking: typeof entering): Promise<PassedTry<Answer> | Refusal> => {
      const ticket = await admission.enter({ ...asking, sentFor: wait });
      return 'reason' in ticket ? ticket : send(ticket);
    };
    const again = async (first: PassedTry<Answer>): Promise<PassedTry<Answer>> => {
      const { again: when } = OUTCOMES[first.outcome];
      const isForOtherKey = when === 'with another key';
      if (!mayRepeat || !(isForOtherKey || when === 'anywhere')) return first;
      const other = { ...entering, isSecondTry: true, not: first.index };
      // The backups have another key. Otherwise any other indexer gets it.
      const others = isForOtherKey ? [{ ...other, rate: 'backup' as const }, other] : [other];
      const open = others.find((each) => admission.refusal(each) === undefined);
      const second = open === undefined ? first : await enter(open);
      return 'reason' in second || 'error' in second ? first : second;
    };
    try {
      const first = await enter(entering);
      if ('reason' in first) throw refused(first);
      const tried = await again(first);
      const indexer = upstreams[tried.index]?.name;
      if ('error' in tried) throw tried.error.with({ indexer });
      const { answer, outcome, isOurs } = tried;
      const { client: gets } = OUTCOMES[outcome];
      if (gets !== 'its answer') throw failure(gets, { upstreamStatus: answer.status, indexer });
      return { answer: { ...answer, headers: returnedHeaders(answer.headers, !isOurs) }, isOurs };
    } catch (error) {
      throw error instanceof ProxyError && error.details.reason === 'sockets' ? refuse(NO_SOCKETS) : error;
    } finally {
      // The body of the answer has no deadline as a whole: only each pause in it is bounded.
      if ('close' in wait) wait.close();
    }
  };
}

/** An answer or a failure, and how its request was sent. `index`: the place of the indexer. `isOurs` as in {@link PassedEnd}. */
type PassedTry<Answer extends ForwardedAnswer> = (ReadPassed<Answer> | Unanswered) & {
  readonly index: number;
  readonly isOurs: boolean;
};

/** The failure of a request without an answer. */
interface Unanswered {
  readonly outcome: Outcome;
  readonly error: ProxyError;
}

async function forward<Answer extends ForwardedAnswer>(
  request: ForwardRequest,
  upstream: PassedTo<Answer>,
  ticket: Pick<Ticket, 'learn' | 'free'>,
  hadOurKey: boolean,
): Promise<ReadPassed<Answer> | Unanswered> {
  let outcome: Outcome = 'unknown';
  let answer: Answer | undefined;
  try {
    answer = await upstream.forward(request);
    const read = await readPassed(answer, hadOurKey);
    if (request.signal.aborted) throw request.signal.reason;
    outcome = read.outcome;
    return read;
  } catch (error) {
    // A client that leaves shows nothing about the indexer, which is still working on its request.
    if (!(error instanceof ProxyError) || request.signal.aborted) throw error;
    outcome = outcomeOf(error);
    return { outcome, error };
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
