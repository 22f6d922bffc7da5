import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import { OUTCOMES } from '../outcomes.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ConnectedRequest, Connection } from './connection.ts';

/**
 * Resolves when a request may be sent once more, on a new connection; with `false` if it may not. `isWanted`: true
 * while somebody waits for its answer.
 */
export type MayRepeat = (isWanted: () => boolean) => Promise<boolean>;

/** How a request ended without a complete answer. `invalid`: the head of an answer had arrived. */
export type BrokenOutcome = 'invalid' | 'unreachable' | 'broken' | 'idle-broken';

// eslint-disable-next-line no-restricted-syntax -- what is measured is a socket, which has no other clock
const monotonic = (): MonotonicMs => performance.now();

/** A connection that breaks later than this after a request was sent was not closed for being idle. */
const IDLE_BREAKS_WITHIN_MS: Ms = 100;

export interface SentRequestDependencies {
  readonly pool: Dispatcher;
  readonly request: Dispatcher.DispatchOptions;
  /** `never`: for a request that changes something. `at once`: without a rate limit. */
  readonly repeats: MayRepeat | 'at once' | 'never';
}

/**
 * One request on a {@link Connection} of a pool, whose events undici reports. If it meets the end of an idle connection,
 * it is sent once more, on a new connection.
 */
export abstract class SentRequest implements ConnectedRequest {
  connection: Connection | undefined;
  /** Absent until the request is sent. */
  protected controller: Dispatcher.DispatchController | undefined;
  /** That of the answer, once its head has arrived. */
  protected status = 0;
  readonly #dependencies: SentRequestDependencies;
  #sentAt: MonotonicMs = 0;
  /** True if it was sent on a connection that had been used before, and no byte has come back yet. */
  #mayMeetIdleEnd = false;
  /** True if it met the end of an idle connection, so that it is sent only on a new one. */
  #isRepeated = false;
  /** True if it has closed an idle connection that a new one shall replace. */
  #isReplacing = false;

  constructor(dependencies: SentRequestDependencies) {
    this.#dependencies = dependencies;
  }

  /** True once nobody waits for its answer. */
  protected abstract get isGivenUp(): boolean;
  /** It is sent now, on a connection. Throw to leave the connection to the next request. */
  protected abstract onSent(controller: Dispatcher.DispatchController, context: unknown): void;
  protected abstract onHead(controller: Dispatcher.DispatchController, headers: IncomingHttpHeaders): void;
  abstract onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void;
  abstract onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void;
  /** It failed for good. */
  protected abstract onFailed(outcome: BrokenOutcome, cause: Error): void;

  /** Sends it by the pool, or by one of its connections. */
  sendBy(dispatcher: Dispatcher): void {
    this.controller = undefined;
    dispatcher.dispatch(this.#dependencies.request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.controller = controller;
    if (!this.isGivenUp && this.#isRepeated && this.connection?.isNew === false) {
      this.#isReplacing = true;
      controller.abort(new errors.RequestAbortedError());
      return;
    }
    this.onSent(controller, context);
    this.#sentAt = monotonic();
    this.#mayMeetIdleEnd = this.connection?.isNew === false;
    if (this.connection !== undefined) this.connection.isNew = false;
  }

  onResponseStarted(): void {
    this.#mayMeetIdleEnd = false;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.onHead(controller, headers);
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    const { connection } = this;
    if (this.#isReplacing && connection !== undefined) {
      this.#isReplacing = false;
      this.sendBy(connection);
      return;
    }
    const outcome = this.#outcomeOf(cause);
    const { repeats } = this.#dependencies;
    if (OUTCOMES[outcome].again === 'here' && connection !== undefined && repeats !== 'never')
      this.#repeat(connection, cause, repeats);
    else this.onFailed(outcome, cause);
  }

  /** Sends it once more, on a new connection: other connections of the pool may be idle and end in the same way. */
  #repeat(connection: Connection, cause: Error, repeats: MayRepeat | 'at once'): void {
    this.#isRepeated = true;
    if (repeats === 'at once') {
      // By the same client: it has neither a connection nor another request now, so it opens a new connection.
      this.sendBy(connection);
      return;
    }
    this.controller = undefined;
    void repeats(() => !this.isGivenUp).then((may) => {
      if (this.isGivenUp) return;
      // This client may have another request in the meantime.
      if (may) this.sendBy(this.#dependencies.pool);
      else this.onFailed('broken', cause);
    });
  }

  #outcomeOf(cause: Error): BrokenOutcome {
    if (this.status !== 0) return 'invalid';
    if (this.controller === undefined) return 'unreachable';
    const isIdleEnd =
      this.#mayMeetIdleEnd &&
      monotonic() - this.#sentAt <= IDLE_BREAKS_WITHIN_MS &&
      !(cause instanceof errors.HTTPParserError) &&
      !this.isGivenUp &&
      this.connection?.closed === false;
    return isIdleEnd ? 'idle-broken' : 'broken';
  }
}
