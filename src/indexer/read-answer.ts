import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import { failure, overloaded, type ProxyError } from '../errors.ts';
import { OUTCOMES, outcomeOfStatus } from '../outcomes.ts';
import { isShortage } from '../shortage.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ConnectedRequest, Connection } from './connection.ts';

/** A complete answer, not decompressed. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty if the status decides alone ({@link outcomeOfStatus}). May be a slice of a read chunk. */
  readonly body: Buffer;
  /** The first bytes of a body that is not kept, if they arrived soon. */
  readonly words?: Buffer;
}

export interface ReadAnswerDependencies {
  /** Called with the change in the number of bytes kept of incomplete answers. */
  readonly onReading: (change: number) => void;
  /** From the start, with the wait for a connection, to the last byte of the answer. */
  readonly timeoutMs: Ms;
  readonly maxBodyBytes: number;
  /** See `UpstreamClientDependencies`. */
  readonly mayRepeat?: MayRepeat | undefined;
}

/**
 * Resolves when a request may be sent once more, on a new connection; with `false` if it may not. `isWanted`: true
 * while somebody waits for its answer.
 */
export type MayRepeat = (isWanted: () => boolean) => Promise<boolean>;

// eslint-disable-next-line no-restricted-syntax -- what is measured is a socket, which has no other clock
const monotonic = (): MonotonicMs => performance.now();

const NO_BYTES = Buffer.alloc(0);
/** The wait for the first bytes of a body that is not kept. */
const WORDS_WITHIN_MS: Ms = 100;

/** The maximum that is read and discarded of an unneeded body, to keep its connection. */
const MOST_DISCARDED_BYTES = 128 * 1024;

/** A connection that breaks later than this after a request was sent was not closed for being idle. */
const IDLE_BREAKS_WITHIN_MS: Ms = 100;

/**
 * Sends a GET and reads its answer whole. Rejects with a {@link ProxyError}: `upstream-timeout`,
 * `upstream-unreachable`, `upstream-reset`, `upstream-too-large`, `upstream-invalid` for a body that was cut short, or
 * `overloaded` if this machine lacks a resource.
 */
export function readAnswer(
  dispatcher: Dispatcher,
  request: { readonly path: string; readonly headers: readonly string[] },
  dependencies: ReadAnswerDependencies,
): Promise<RawAnswer> {
  const { path, headers } = request;
  const reader = new AnswerReader(dispatcher, { method: 'GET', path, headers: headers as string[] }, dependencies);
  reader.sendBy(dispatcher);
  return reader.answer;
}

/** Handles undici's callbacks for one answer. Undici's `request` would make a stream and a signal for each. */
class AnswerReader implements ConnectedRequest {
  readonly answer: Promise<RawAnswer>;
  connection: Connection | undefined;
  readonly #pool: Dispatcher;
  readonly #request: Dispatcher.DispatchOptions;
  readonly #dependencies: ReadAnswerDependencies;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (error: ProxyError) => void;
  readonly #timer: NodeJS.Timeout;
  /** Absent until the request is sent. */
  #controller: Dispatcher.DispatchController | undefined;
  #sentAt: MonotonicMs = 0;
  /** True if it was sent on a connection that had been used before, and no byte has come back yet. */
  #mayMeetIdleEnd = false;
  /** True if it met the end of an idle connection, so that it is sent only on a new one. */
  #isRepeated = false;
  /** True if it has closed an idle connection that a new one shall replace. */
  #isReplacing = false;
  #givenUp: ProxyError | undefined;
  #wordsTimer: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  /** The chunks of the body; absent for an unneeded body, and once the answer has ended. */
  #body: Buffer[] | undefined;
  #bytes = 0;

  constructor(pool: Dispatcher, request: Dispatcher.DispatchOptions, dependencies: ReadAnswerDependencies) {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.answer = promise;
    this.#pool = pool;
    this.#request = request;
    this.#dependencies = dependencies;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(onTimeout, dependencies.timeoutMs, this);
  }

  sendBy(dispatcher: Dispatcher): void {
    this.#controller = undefined;
    dispatcher.dispatch(this.#request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request waited for a connection until its timeout. Throwing leaves the connection to the next request; an
    // abort would close it.
    if (this.#givenUp !== undefined) throw this.#givenUp;
    if (this.#isRepeated && this.connection?.isNew === false) {
      this.#isReplacing = true;
      controller.abort(new errors.RequestAbortedError());
      return;
    }
    this.#sentAt = monotonic();
    this.#mayMeetIdleEnd = this.connection?.isNew === false;
    if (this.connection !== undefined) this.connection.isNew = false;
  }

  onResponseStarted(): void {
    this.#mayMeetIdleEnd = false;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (outcomeOfStatus(status) === undefined) this.#body = [];
    else this.#wordsTimer = setTimeout(() => this.#resolveWith(NO_BYTES), WORDS_WITHIN_MS);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBodyBytes, onReading } = this.#dependencies;
    const most = this.#body === undefined ? MOST_DISCARDED_BYTES : maxBodyBytes;
    this.#bytes += chunk.length;
    if (this.#body === undefined) this.#resolveWith(chunk);
    else {
      this.#body.push(chunk);
      onReading(chunk.length);
    }
    if (this.#bytes > most) this.giveUp(tooLarge(most));
  }

  onResponseEnd(): void {
    const [status, headers, body] = [this.#status, this.#headers, this.#body];
    if (body === undefined) this.#resolveWith(NO_BYTES);
    else this.#resolve({ status, headers, body: joined(body) });
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    const { connection } = this;
    if (this.#isReplacing && connection !== undefined) {
      this.#isReplacing = false;
      this.sendBy(connection);
      return;
    }
    const outcome = this.#outcomeOf(cause);
    if (OUTCOMES[outcome].again === 'here' && connection !== undefined) {
      this.#repeat(connection, cause);
      return;
    }
    this.#fail(outcome === 'invalid' ? cutShort(cause) : unanswered(cause, outcome === 'unreachable'));
  }

  /** Sends it once more, on a new connection: other connections of the pool may be idle and end in the same way. */
  #repeat(connection: Connection, cause: Error): void {
    const { mayRepeat } = this.#dependencies;
    this.#isRepeated = true;
    if (mayRepeat === undefined) {
      // Immediately, and by the same client: it has neither a connection nor another request now, so it opens a new
      // connection.
      this.sendBy(connection);
      return;
    }
    this.#controller = undefined;
    void mayRepeat(() => this.#givenUp === undefined).then((may) => {
      if (this.#givenUp !== undefined) return;
      // This client may have another request in the meantime.
      if (may) this.sendBy(this.#pool);
      else this.#fail(unanswered(cause, false));
    });
  }

  #fail(error: ProxyError): void {
    // If the status decides alone, the words of the body matter only to operators.
    if (this.#wordsTimer !== undefined) this.#resolveWith(NO_BYTES);
    this.#reject(error);
    this.#end();
  }

  #outcomeOf(cause: Error): 'invalid' | 'unreachable' | 'broken' | 'idle-broken' {
    if (this.#status !== 0) return 'invalid';
    if (this.#controller === undefined) return 'unreachable';
    const isIdleEnd =
      this.#mayMeetIdleEnd &&
      monotonic() - this.#sentAt <= IDLE_BREAKS_WITHIN_MS &&
      !(cause instanceof errors.HTTPParserError) &&
      this.#givenUp === undefined &&
      this.connection?.closed === false;
    return isIdleEnd ? 'idle-broken' : 'broken';
  }

  giveUp(error: ProxyError): void {
    this.#givenUp = error;
    this.#fail(error);
    this.#controller?.abort(error);
  }

  /** Ends an answer whose status decides alone. The first words of its body are for operators. */
  #resolveWith(words: Buffer): void {
    this.#resolve({ status: this.#status, headers: this.#headers, body: NO_BYTES, words });
    clearTimeout(this.#wordsTimer);
  }

  /** May be called more than once. */
  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#wordsTimer);
    if (this.#body !== undefined) this.#dependencies.onReading(-this.#bytes);
    this.#body = undefined;
  }
}

/** A single chunk is not copied here: callers that keep it copy it. */
function joined([first = NO_BYTES, ...others]: readonly Buffer[]): Buffer {
  return others.length === 0 ? first : Buffer.concat([first, ...others]);
}

function onTimeout(reader: AnswerReader): void {
  reader.giveUp(timedOut());
}

const unpack = promisify(gunzip);

/** A body without its content coding. Rejects with a {@link ProxyError} if that is not gzip, or the body is too large. */
export async function decoded(body: Buffer, encoding: string, maxBodyBytes: number): Promise<Buffer> {
  // An empty body, as that of a 429, is not compressed.
  if (body.length === 0) return body;
  const name = encoding.trim().toLowerCase();
  if (name === 'identity' || name === '') return body;
  if (name !== 'gzip') {
    throw failure('upstream-invalid', { text: 'encoding' });
  }
  try {
    return await unpack(body, { maxOutputLength: maxBodyBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBodyBytes);
    throw failure('upstream-invalid', { text: 'packed', cause });
  }
}

/** There was no complete answer in time. */
export function timedOut(cause?: unknown): ProxyError {
  return failure('upstream-timeout', { cause });
}

/** The answer is larger than the limit. */
function tooLarge(maxBodyBytes: number): ProxyError {
  return failure('upstream-too-large', { values: { bytes: maxBodyBytes } });
}

/** The head of an answer arrived, but not all of its body. */
function cutShort(cause: unknown): ProxyError {
  return failure('upstream-invalid', { text: 'cut-short', cause });
}

/**
 * The failure for an error before the head of an answer. `isUnsent`: no connection could be opened. A shortage of this
 * machine is overload here, and not a failure of the indexer.
 */
export function unanswered(cause: unknown, isUnsent: boolean): ProxyError {
  if (isShortage(cause)) return overloaded('sockets', 0).with({ cause });
  if (isUnsent) return failure('upstream-unreachable', { cause });
  return failure('upstream-reset', { text: cause instanceof errors.HTTPParserError ? 'not-http' : 'usual', cause });
}
