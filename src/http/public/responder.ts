import type { Socket } from 'node:net';
import type { Answer, ProxyRequest } from '../../answer/answer.ts';
import { renderCacheStatus } from '../../answer/cache-status.ts';
import type { FinishedRequest } from '../../answer/finished-request.ts';
import type { RequestHandler } from '../../answer/get.ts';
import { cacheStatusOf, type Failed, outcomeOf, type RequestOutcome } from '../../answer/phase.ts';
import { givenIdOf, requestIdOf } from '../../answer/request-trace.ts';
import { Wait } from '../../answer/wait.ts';
import type { Gzip, SentBody } from '../../cache/gzip.ts';
import type { Requester } from '../../clients/client-addresses.ts';
import type { PerClientLimit } from '../../clients/per-client-limit.ts';
import { type ErrorCode, failure, mayBePassedOn, ProxyError } from '../../errors.ts';
import type { EpochMs, MonotonicMs, Ms } from '../../time-units.ts';
import type { OperationName } from '../../ton/operation-names.ts';
import type { Operation } from '../../ton/operations.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { acceptsGzip } from '../parse-request.ts';
import type { ClientConnections } from './client-connections.ts';
import type { ResponseContext, ResponseHeaders } from './response-headers.ts';
import type { ResponseMessage } from './response-message.ts';

/** Events of requests at the public port. */
export type ResponderEvent =
  | FinishedRequest
  /** A request that memory did not answer got its answer. */
  | {
      readonly name: 'waited';
      readonly operation: OperationName;
      readonly outcome: RequestOutcome;
      readonly ms: number;
    }
  /** Refused before its operation and parameters were read. */
  | { readonly name: 'refused'; readonly code: ErrorCode; readonly requester?: Requester }
  /** Nothing is served at this path, or not in this form; `why`: with the settings that decide. */
  | { readonly name: 'path-not-served'; readonly path: string; readonly why: string }
  | { readonly name: 'bug'; readonly error: unknown };

export interface ResponderDependencies {
  readonly handler: Pick<RequestHandler, 'handle'>;
  readonly gzip: Pick<Gzip, 'bodyFor'>;
  readonly responseHeaders: ResponseHeaders;
  /** The longest wait of a request for its answer. */
  readonly waitMs: Ms;
  readonly clientOf: ClientOf;
  readonly requesterOf: (socket: Socket, headers: RequestHeaders) => Requester;
  /** Called once for each request that is not above its client's limit. Must cost next to nothing: a hit calls it too. */
  readonly onRequest: (socket: Socket, headers: RequestHeaders) => void;
  /** Called once for each request that must know its client. */
  readonly countRequest: (socket: Socket, headers: RequestHeaders) => void;
  /** Absent without a limit of requests per client: then a hit need not know its client. */
  readonly requestLimit: PerClientLimit | undefined;
  readonly connections: ClientConnections;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  readonly report: (event: ResponderEvent) => void;
  /** Called with the client of each request that memory does not answer, or that is above its limit. */
  readonly onClient: (client: string) => void;
  /**
   * Called for each answer of an operation, except the fast lane's memory hits and refusals by `requestLimit`; absent
   * if requests are not logged.
   */
  readonly onAnswered: ((request: AnsweredRequest) => void) | undefined;
}

export type ClientOf = (socket: Socket, headers: RequestHeaders) => string;

/** A request with its answer, for the log. */
export interface AnsweredRequest {
  /** For a hit in memory only if the client sent one. */
  readonly id: string | undefined;
  readonly client: string;
  readonly operation: OperationName;
  /** Absent for an invalid request, which has no key. */
  readonly key: string | undefined;
  readonly status: number;
  /** True for a 5xx, and for a 429 that is not for the client's own limit. */
  readonly hasFailed: boolean;
  readonly cacheStatus: string;
  readonly ms: number;
  /** The indexer that answered or failed, if there are several. */
  readonly indexer: string | undefined;
  /** Why no request was sent, if that is why it failed. */
  readonly reason: string | undefined;
  /** The id of the request whose answer it got. */
  readonly joined: string | undefined;
}

/** Turns a request for an operation into the message that answers it, for the fast lane and for Node's HTTP server. */
export class Responder {
  readonly #dependencies: ResponderDependencies;

  constructor(dependencies: ResponderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Calls `send` with the answer; for a hit in memory, before it returns. A wait ends when the client disconnects. If
   * `send` throws, it is called once more, with the failure. `passOn`, if given, is called instead for a request
   * without a cached form, and for one whose answer is too large.
   */
  answer(
    asked: AnswerableRequest,
    client: Socket,
    send: (message: ResponseMessage) => void,
    passOn?: () => void,
  ): void {
    this.#dependencies.onRequest(client, asked.headers);
    let id: string | undefined;
    const begunId = () => {
      id ??= requestIdOf(asked.headers);
      return id;
    };
    const begun = { asked, client, at: this.#dependencies.monotonic(), id: begunId, isPassable: passOn !== undefined };
    const fail = (error: unknown) => {
      if (passOn !== undefined && mayBePassedOn(error)) passOn();
      else send(this.#failed(error, begun));
    };
    try {
      const message = this.#answer(begun);
      if (message instanceof Promise) message.then(send).catch(fail);
      else send(message);
    } catch (error) {
      fail(error);
    }
  }

  #answer(begun: BegunRequest): ResponseMessage | Promise<ResponseMessage> {
    const { handler, monotonic, report } = this.#dependencies;
    const { asked, client } = begun;
    const openWait = () => this.openWait(client, asked.headers, begun.id());
    const answer = handler.handle({
      ...asked,
      openWait,
      requestId: begun.id,
      requester: () => this.#requesterOf(begun),
    });
    if (!(answer instanceof Promise)) return this.#message(answer, begun);
    return answer.then((landed) => {
      const { name: operation } = asked.operation;
      const outcome = outcomeOf(landed);
      if (outcome !== 'client-closed-request')
        report({ name: 'waited', operation, outcome, ms: monotonic() - begun.at });
      return this.#message(landed, begun);
    });
  }

  /** Counts a request of a client; returns the refusal if it is above the limit. */
  refusal(client: Socket, headers: RequestHeaders): ResponseMessage | undefined {
    const { requestLimit, clientOf, requesterOf, countRequest, onClient, report } = this.#dependencies;
    if (requestLimit === undefined) return undefined;
    countRequest(client, headers);
    const name = clientOf(client, headers);
    const error = requestLimit.take(name);
    if (error === undefined) return undefined;
    onClient(name);
    report({ name: 'refused', code: error.code, requester: requesterOf(client, headers) });
    return this.failure(error, headers);
  }

  failure(error: unknown, request: RequestHeaders, operation?: Operation): ResponseMessage {
    const known = this.#known(error);
    const context = { request, operation, cacheStatus: { detail: known.code }, requestId: requestIdOf(request) };
    return this.#dependencies.responseHeaders.failure(known, context);
  }

  #failed(error: unknown, begun: BegunRequest): ResponseMessage {
    const known = this.#known(error);
    const { operation, headers: request } = begun.asked;
    const { name } = operation;
    // The code that throws a failure has counted it, except one that may be passed on; a bug is counted here too.
    if (mayBePassedOn(error)) this.#dependencies.report({ name: 'answered', operation: name, outcome: 'invalid' });
    const { explained: why } = known.details;
    if (why !== undefined) this.#dependencies.report({ name: 'path-not-served', path: name, why });
    if (known !== error) this.#reportFailed(begun, begun.asked.rawQuery, known);
    const context = { request, operation, cacheStatus: { detail: known.code }, requestId: begun.id() };
    return this.#logged(begun, this.#dependencies.responseHeaders.failure(known, context), context);
  }

  /** The failure for the client; anything but a {@link ProxyError} is a bug, and is reported. */
  #known(error: unknown): ProxyError {
    if (error instanceof ProxyError) return error;
    this.#dependencies.report({ name: 'bug', error });
    return failure('internal', { cause: error });
  }

  /** The message, after the request was logged if requests are. */
  #logged(
    { asked, client, at }: BegunRequest,
    message: ResponseMessage,
    { cacheStatus, requestId: id = givenIdOf(asked.headers) }: Pick<ResponseContext, 'cacheStatus' | 'requestId'>,
    answer?: Answer,
  ): ResponseMessage {
    const { onAnswered, clientOf, monotonic } = this.#dependencies;
    if (onAnswered === undefined) return message;
    const { indexer, reason } =
      answer?.kind === 'failed' ? answer.error.details : { indexer: answer?.entry.meta.indexer, reason: undefined };
    const { status } = message;
    onAnswered({
      id,
      client: clientOf(client, asked.headers),
      operation: asked.operation.name,
      key: answer?.key,
      status,
      hasFailed: status >= 500 || (status === 429 && cacheStatus.detail !== 'too-many-requests'),
      cacheStatus: renderCacheStatus(cacheStatus),
      ms: monotonic() - at,
      indexer: indexer === '' ? undefined : indexer,
      reason,
      joined: answer?.joined,
    });
    return message;
  }

  /** Begins a wait that also ends when its client leaves. */
  openWait(client: Socket, headers: RequestHeaders, id?: string): Wait {
    const { waitMs, clientOf, countRequest, onClient, connections, requestLimit } = this.#dependencies;
    // With a limit of requests it was counted on arrival.
    if (requestLimit === undefined) countRequest(client, headers);
    const name = clientOf(client, headers);
    onClient(name);
    const wait = new Wait(waitMs, name, id);
    connections.endWithClient(wait, client);
    return wait;
  }

  /** The message for a failure; throws the failure if the request can be passed on instead. */
  #refused(answer: Extract<Answer, Failed>, begun: BegunRequest, context: ResponseContext) {
    const { error } = answer;
    if (mayBePassedOn(error)) {
      if (begun.isPassable) throw error;
      this.#reportFailed(begun, answer.key, error);
    }
    return this.#logged(begun, this.#dependencies.responseHeaders.failure(error, context), context, answer);
  }

  #reportFailed(begun: BegunRequest, key: string, error: ProxyError): void {
    const { report } = this.#dependencies;
    const { name: operation } = begun.asked.operation;
    report({ name: 'answered', operation, outcome: 'failed' });
    report({ name: 'failed', operation, key, requester: this.#requesterOf(begun), error });
  }

  #requesterOf({ asked, client }: BegunRequest): Requester {
    return this.#dependencies.requesterOf(client, asked.headers);
  }

  #message(answer: Answer, begun: BegunRequest): ResponseMessage | Promise<ResponseMessage> {
    const { gzip, responseHeaders, now } = this.#dependencies;
    const { operation, headers: request } = begun.asked;
    const cacheStatus = cacheStatusOf(answer);
    const fromMemory = cacheStatus.hit === true && cacheStatus.detail === 'memory';
    const context = { request, operation, cacheStatus, requestId: fromMemory ? undefined : begun.id() };
    if (answer.kind === 'failed') return this.#refused(answer, begun, context);
    const { entry } = answer;
    const withBody = (body: SentBody) => {
      const message = responseHeaders.entry(entry, body, context, now());
      return this.#logged(begun, message, context, answer);
    };
    const body = gzip.bodyFor(entry, acceptsGzip(request['accept-encoding'] as string | undefined));
    return body instanceof Promise ? body.then(withBody, undecodable) : withBody(body);
  }
}

function undecodable(cause: unknown): never {
  throw failure('internal', { text: 'stored', cause });
}

/** A request for an operation, before it has a wait and an id. */
type AnswerableRequest = Omit<ProxyRequest, 'openWait' | 'requestId' | 'requester'>;

/** A request from its beginning to its answer. */
interface BegunRequest {
  readonly asked: AnswerableRequest;
  readonly client: Socket;
  /** The time at which it was read. */
  readonly at: MonotonicMs;
  /** True if it can be passed through instead. */
  readonly isPassable: boolean;
  /** Makes the id on first use: a hit in memory has none. */
  readonly id: () => string;
}
