import type { Socket } from 'node:net';
import { ProxyError } from '../errors.ts';
import type { Answer } from '../proxy/answer.ts';
import type { ProxyRequest } from '../proxy/handle-request.ts';
import type { OpenWaits, Wait } from '../proxy/open-waits.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';
import type { ClientConnections } from './client-connections.ts';
import { entryMessage } from './entry-message.ts';
import { errorMessage } from './error-message.ts';
import { requestId } from './parse-request.ts';
import type { ResponseContext, ResponseMessage } from './response-message.ts';

export interface OperationAnswersOptions {
  readonly handle: (request: ProxyRequest) => Answer | Promise<Answer>;
  readonly waits: OpenWaits;
  readonly connections: ClientConnections;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told of what should never happen. */
  readonly onBug: (error: unknown) => void;
}

/** Turns a request for an operation into the message that answers it, whichever way its client is connected. */
export class OperationAnswers {
  readonly #options: OperationAnswersOptions;

  constructor(options: OperationAnswersOptions) {
    this.#options = options;
  }

  /**
   * Calls `send` with the answer: at once with what memory answers. The wait ends with the client's connection. When `send`
   * throws, it is called once more, with the failure.
   */
  answer(asked: Omit<ProxyRequest, 'openWait'>, client: Socket, send: (message: ResponseMessage) => void): void {
    const { operation, headers } = asked;
    let wait: Wait | undefined;
    const openWait = () => {
      wait = this.openWait(client);
      return wait;
    };
    const fail = (error: unknown) => send(this.failure(error, operation.vary, headers));
    try {
      const answer = this.#options.handle({ ...asked, openWait });
      if (!(answer instanceof Promise)) {
        send(this.#message(answer, operation.vary, headers));
        return;
      }
      answer
        .finally(() => this.closeWait(wait, client))
        .then((landed) => send(this.#message(landed, operation.vary, headers)))
        .catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** The message for a failure; one that is no {@link ProxyError} is a bug, and told of. */
  failure(error: unknown, vary: string, headers: RequestHeaders): ResponseMessage {
    const isKnown = error instanceof ProxyError;
    if (!isKnown) this.#options.onBug(error);
    const failure = isKnown ? error : new ProxyError('internal', 'internal error', { cause: error });
    const context = { cacheStatus: { detail: failure.code }, vary, requestId: requestId(headers) };
    return errorMessage(failure, context);
  }

  /** Begins a wait that ends when its client leaves; `undefined` when too many are open. */
  openWait(client: Socket): Wait | undefined {
    const wait = this.#options.waits.open();
    if (wait !== undefined) this.#options.connections.endWithClient(wait, client);
    return wait;
  }

  closeWait(wait: Wait | undefined, client: Socket): void {
    if (wait === undefined) return;
    wait.close();
    this.#options.connections.forget(wait, client);
  }

  #message(answer: Answer, vary: string, headers: RequestHeaders): ResponseMessage {
    const { cacheStatus } = answer;
    const fromMemory = cacheStatus.hit === true && cacheStatus.detail === 'memory';
    const context: ResponseContext = { cacheStatus, vary, requestId: fromMemory ? undefined : requestId(headers) };
    return answer.kind === 'entry'
      ? entryMessage(headers, answer.entry, context, this.#options.now())
      : errorMessage(answer.error, context);
  }
}
