import type { Socket } from 'node:net';
import type { Answer } from '../../answer/answer.ts';
import type { RequestOutcome } from '../../answer/events.ts';
import type { ProxyRequest } from '../../answer/handle-request.ts';
import type { OpenWaits, Wait } from '../../answer/open-waits.ts';
import type { Entry } from '../../cache/entry.ts';
import type { SentBody } from '../../cache/gzip.ts';
import type { ClientLimits } from '../../clients/client-limits.ts';
import { type ErrorCode, ProxyError } from '../../errors.ts';
import type { OperationName } from '../../ton/operations.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import { requestId } from '../parse-request.ts';
import { acceptsGzip } from './accept-encoding.ts';
import type { ClientConnections } from './client-connections.ts';
import { entryMessage } from './entry-message.ts';
import { errorMessage } from './error-message.ts';
import type { ResponseContext, ResponseMessage } from './response-message.ts';

export interface OperationAnswersDependencies {
  readonly handle: (request: ProxyRequest) => Answer | Promise<Answer>;
  /** The body of an entry for a client; see `Gzip.bodyFor`. */
  readonly bodyFor: (entry: Entry, acceptsGzip: boolean) => SentBody | undefined | Promise<SentBody | undefined>;
  /** Deletes an entry that cannot be decoded. Never rejects. */
  readonly discard: (entry: Entry) => Promise<void>;
  readonly waits: OpenWaits;
  readonly clientOf: ClientOf;
  /** Absent when the requests of clients have no limit: then a hit need not know whose it is. */
  readonly limits: Pick<ClientLimits, 'takeRequest'> | undefined;
  readonly connections: ClientConnections;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Called when a request that memory did not answer has its answer, with how long that took in milliseconds. */
  readonly onWaited: (operation: OperationName, outcome: RequestOutcome, ms: number) => void;
  /** Called with the client of each request that memory does not answer, or that is beyond its limit. */
  readonly onClient: (client: string) => void;
  /** Called with each request that is refused before its operation was looked at. */
  readonly onRefused: (code: ErrorCode) => void;
  /** Called with errors that should never happen. */
  readonly onBug: (error: unknown) => void;
}

/** Whom a request on a connection is for. */
export type ClientOf = (socket: Socket, headers: RequestHeaders) => string;

/** Turns a request for an operation into the message that answers it, for the fast lane and for Node's HTTP server. */
export class OperationAnswers {
  readonly #dependencies: OperationAnswersDependencies;

  constructor(dependencies: OperationAnswersDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Calls `send` with the answer, before it returns if memory has the answer. A wait ends when the client disconnects.
   * When `send` throws, it is called once more, with the failure.
   */
  answer(asked: Asked, client: Socket, send: (message: ResponseMessage) => void): void {
    const fail = (error: unknown) => send(this.failure(error, asked.operation.vary, asked.headers));
    try {
      const message = this.#answer(asked, client, true);
      if (message instanceof Promise) message.then(send).catch(fail);
      else send(message);
    } catch (error) {
      fail(error);
    }
  }

  #answer(asked: Asked, client: Socket, mayAskAgain: boolean): ResponseMessage | Promise<ResponseMessage> {
    const { monotonic, onWaited } = this.#dependencies;
    let wait: Wait | undefined;
    let startedAt = 0;
    const openWait = () => {
      startedAt = monotonic();
      wait = this.openWait(client, asked.headers);
      return wait;
    };
    const answer = this.#dependencies.handle({ ...asked, openWait });
    if (!(answer instanceof Promise)) {
      this.closeWait(wait, client);
      return this.#message(answer, asked, client, mayAskAgain);
    }
    // Not `.finally(...).then(...)`, which makes four promises more.
    return answer.then(
      (landed) => {
        this.closeWait(wait, client);
        onWaited(asked.operation.name, landed.outcome, monotonic() - startedAt);
        return this.#message(landed, asked, client, mayAskAgain);
      },
      (error: unknown) => {
        this.closeWait(wait, client);
        throw error;
      },
    );
  }

  /** Counts a request of a client; the message that refuses it if that is one too many. */
  refusal(client: Socket, headers: RequestHeaders): ResponseMessage | undefined {
    const { limits, clientOf, onClient, onRefused } = this.#dependencies;
    if (limits === undefined) return undefined;
    const name = clientOf(client, headers);
    const error = limits.takeRequest(name);
    if (error === undefined) return undefined;
    onClient(name);
    onRefused(error.code);
    return this.failure(error, '', headers);
  }

  /** The message for a failure; one that is no {@link ProxyError} is a bug, and is reported. */
  failure(error: unknown, vary: string, headers: RequestHeaders): ResponseMessage {
    const isKnown = error instanceof ProxyError;
    if (!isKnown) this.#dependencies.onBug(error);
    const failure = isKnown ? error : new ProxyError('internal', 'internal error', { cause: error });
    const context = { cacheStatus: { detail: failure.code }, vary, requestId: requestId(headers) };
    return errorMessage(failure, context);
  }

  /** Begins a wait that ends when its client leaves; `undefined` when too many are open. */
  openWait(client: Socket, headers: RequestHeaders): Wait | undefined {
    const { waits, clientOf, onClient, connections } = this.#dependencies;
    const name = clientOf(client, headers);
    onClient(name);
    const wait = waits.open(name);
    if (wait !== undefined) connections.endWithClient(wait, client);
    return wait;
  }

  closeWait(wait: Wait | undefined, client: Socket): void {
    if (wait === undefined) return;
    wait.close();
    this.#dependencies.connections.forget(client);
  }

  #message(
    answer: Answer,
    asked: Asked,
    client: Socket,
    mayAskAgain: boolean,
  ): ResponseMessage | Promise<ResponseMessage> {
    const { bodyFor, discard, now } = this.#dependencies;
    const { operation, headers } = asked;
    const { cacheStatus } = answer;
    const fromMemory = cacheStatus.hit === true && cacheStatus.detail === 'memory';
    const id = fromMemory ? undefined : requestId(headers);
    const context: ResponseContext = { cacheStatus, vary: operation.vary, requestId: id };
    if (answer.kind === 'failure') return errorMessage(answer.error, context);
    const { entry } = answer;
    const withBody = (body: SentBody | undefined): ResponseMessage | Promise<ResponseMessage> => {
      if (body !== undefined) return entryMessage(headers, entry, body, context, now());
      if (!mayAskAgain) throw new ProxyError('internal', 'the stored answer cannot be decoded');
      return discard(entry).then(() => this.#answer(asked, client, false));
    };
    const body = bodyFor(entry, acceptsGzip(headers['accept-encoding'] as string | undefined));
    return body instanceof Promise ? body.then(withBody) : withBody(body);
  }
}

/** A request without its wait. */
type Asked = Omit<ProxyRequest, 'openWait'>;
