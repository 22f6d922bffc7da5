import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Admission, Ticket } from '../../admission/admission.ts';
import type { Refusal } from '../../admission/guard.ts';
import type { MemoryPressure } from '../../admission/memory-pressure.ts';
import type { Report } from '../../answer/events.ts';
import { NO_SOCKETS, type RefusalErrorOf } from '../../answer/refusal-error.ts';
import type { Wait } from '../../answer/wait.ts';
import type { PerClientLimit } from '../../clients/per-client-limit.ts';
import { failure, ProxyError } from '../../errors.ts';
import type { IndexerHead } from '../../indexer/indexer-head.ts';
import type { ForwardedAnswer, ForwardRequest, UpstreamClient } from '../../indexer/upstream-client.ts';
import { type Outcome, outcomeOf } from '../../outcomes.ts';
import type { OperationsInUse } from '../../ton/operations.ts';
import type { BodyReader } from '../body-reader.ts';
import { commonHeaders } from '../public/response-message.ts';
import { forwardedHeaders, hasKeyHeader, headersForBackup, returnedHeaders } from './forwarded-headers.ts';
import { learningHead } from './learn-head.ts';
import { hasApiKey, hidesOperation, isPassable, pathKey, withoutApiKeys } from './passable-target.ts';

/** Methods that are passed through. */
const PASSED_METHODS = ['GET', 'HEAD', 'POST'] as const;
const ALLOW = [...PASSED_METHODS, 'OPTIONS'].join(', ');
const OPERATION = 'passThrough';

/** An indexer that requests are passed to. */
interface PassedTo {
  readonly client: Pick<UpstreamClient, 'forward'>;
  readonly head: Pick<IndexerHead, 'hear'>;
  /** Of requests without a key; never sent to another indexer. */
  readonly apiKey: string | undefined;
}

export interface PassThroughDependencies {
  readonly operations: OperationsInUse;
  /** Of the requests of each client that an indexer is asked for; absent where there is none. */
  readonly missLimit: PerClientLimit | undefined;
  /** That of the cached operations: pass-through is one more, with slots of its own and the same rate. */
  readonly admission: Admission;
  readonly memory: Pick<MemoryPressure, 'makeRoomIfFull'>;
  /** In the order of the routes of admission. */
  readonly indexers: readonly PassedTo[];
  /** Asks the indexers for their heads in the background, if it is time. */
  readonly pollHeads: () => void;
  readonly refusalError: RefusalErrorOf;
  readonly bodies: BodyReader;
  readonly report: Report;
  /** The most answers that may be on their way to clients at once. */
  readonly maxTransfers: number;
  /** Whether the cached operations are sent with an API key, and whether it is added to requests without a key. */
  readonly hasOurKey: boolean;
  readonly sharesOurKey: boolean;
}

/** A request that is to be passed through. */
export interface PassedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query in origin form, as they came. */
  readonly target: string;
  /** Whom it is for. */
  readonly client: string;
  /**
   * Begins the wait for the head of the answer, to be closed by who begins it. To be called when the client's body has
   * arrived, because the time for that is the client's.
   */
  readonly openWait: () => Wait;
  readonly requestId: string;
}

/** Passes a request through. Rejects with a {@link ProxyError} while nothing was sent to the client yet. */
export type PassThrough = (passed: PassedRequest) => Promise<void>;

/**
 * Sends requests that are not cached to the indexer, never twice, and streams the answers back. Once the head of an
 * answer has arrived, the indexer's query is over and the slot is free. The body counts as a transfer from then on,
 * because its client decides how long it takes.
 */
export function passThroughTo(dependencies: PassThroughDependencies): PassThrough {
  const { operations, admission, bodies, indexers, pollHeads, memory, missLimit, refusalError, report, maxTransfers } =
    dependencies;
  const { hasOurKey, sharesOurKey } = dependencies;
  /** Answers on their way to clients now. */
  let transfers = 0;
  return async ({ request, response, target, client, openWait, requestId }) => {
    const method = methodOf(request, target, operations);
    const limited = missLimit?.take(client);
    if (limited !== undefined) {
      report({ name: 'shed', operation: OPERATION, reason: 'client-limit' });
      throw limited;
    }
    // The client's own key, as header or parameter, goes before ours.
    const hasItsOwn = hasKeyHeader(request.headers) || hasApiKey(target);
    const withClientKey = hasItsOwn || (hasOurKey && !sharesOurKey);
    const entering = { operation: OPERATION, key: pathKey(method, target), clients: [client], withClientKey } as const;
    memory.makeRoomIfFull();
    // Before the client's body is read.
    const refusal = transfers >= maxTransfers ? TOO_MANY_TRANSFERS : admission.refusal(entering);
    if (refusal !== undefined) throw refusalError(entering, refusal);
    const body = method === 'POST' ? await bodies.read(request) : undefined;
    const wait = openWait();
    const { signal } = wait;
    const refused = (why: Refusal) => (why.reason === 'abandoned' ? signal.reason : refusalError(entering, why));
    let answer: PassedAnswer;
    try {
      const ticket = await admission.enter({ ...entering, sentFor: wait });
      if ('reason' in ticket) throw refused(ticket);
      const go = ticket.send();
      if (go !== 'go') throw refused(go);
      pollHeads();
      const { index, isBackup } = ticket.route;
      const indexer = indexers[index] as PassedTo;
      const ourKey = !hasItsOwn && sharesOurKey && indexer.apiKey !== undefined ? ['x-api-key', indexer.apiKey] : [];
      const its = isBackup ? headersForBackup(request.headers) : forwardedHeaders(request.headers, ourKey.length > 0);
      const headers = [...its, 'x-request-id', requestId, ...ourKey];
      const sent = ourKey.length > 0 ? withoutApiKeys(target) : target;
      answer = await forward({ method, target: sent, headers, body, signal }, indexer, ticket);
    } catch (error) {
      throw error instanceof ProxyError && error.details.reason === 'sockets'
        ? refusalError(entering, NO_SOCKETS)
        : error;
    } finally {
      // The body has no deadline as a whole: only each pause in it is bounded.
      wait.close();
    }
    transfers++;
    await transfer(answer, response, requestId);
    transfers--;
  };
}

const TOO_MANY_TRANSFERS: Refusal = { reason: 'queue-full', retryAfterMs: 0 };

type PassedAnswer = Omit<ForwardedAnswer, 'body'> & { readonly body: AsyncIterable<Buffer> };

async function forward(
  request: ForwardRequest,
  { client, head }: PassedTo,
  ticket: Pick<Ticket, 'learn' | 'free'>,
): Promise<PassedAnswer> {
  let outcome: Outcome = 'unknown';
  let answer: ForwardedAnswer | undefined;
  try {
    answer = await client.forward(request);
    outcome = passedOutcome(answer.status);
    return { ...answer, body: learningHead(request.target, answer, (named) => void head.hear(named)) };
  } catch (error) {
    // A client that leaves says nothing about the indexer, which is still working on its request.
    if (error instanceof ProxyError && !request.signal.aborted) outcome = outcomeOf(error);
    throw error;
  } finally {
    ticket.learn(outcome, answer?.retryAfterMs);
    ticket.free();
  }
}

/** Never rejects. */
async function transfer(
  { status, headers, body }: PassedAnswer,
  response: ServerResponse,
  requestId: string,
): Promise<void> {
  try {
    const cacheControl = headers['cache-control'] === undefined ? ['Cache-Control', 'no-store'] : [];
    const ours = commonHeaders({ cacheStatus: { fwd: 'bypass', fwdStatus: status }, vary: '', requestId });
    response.writeHead(status, [...returnedHeaders(headers), ...cacheControl, ...ours]);
    await pipeline(body, response);
  } catch {
    // One side disconnected in the middle. The other side learns of it by the end of its connection.
    response.destroy();
  }
}

/** The method of a request that may be passed through; throws a {@link ProxyError} for any other. */
function methodOf(
  request: IncomingMessage,
  target: string,
  operations: OperationsInUse,
): (typeof PASSED_METHODS)[number] {
  if (!isPassable(target)) {
    throw failure('bad-request', { text: 'ambiguous-path' });
  }
  const [path = ''] = target.split('?', 1);
  if (hidesOperation(path, operations)) {
    throw failure('bad-request', { text: 'encoded-letters' });
  }
  // Another protocol is only offered (RFC 9110 7.8): Java's client offers h2c with each request, and takes any answer.
  if (/\bwebsocket\b/i.test(request.headers.upgrade ?? '')) {
    throw failure('bad-request', { text: 'upgrade' });
  }
  const method = PASSED_METHODS.find((passed) => passed === request.method);
  if (method === undefined) throw failure('method-not-allowed', { values: { methods: ALLOW }, allow: ALLOW });
  return method;
}

/** Whatever a client asks, with a key of its own, is between the two: only a pause and a 5xx say something of the indexer. */
function passedOutcome(status: number): Outcome {
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'failed' : 'answered';
}
