import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import { failure, overloaded, type ProxyError } from '../errors.ts';
import { outcomeOfStatus } from '../outcomes.ts';
import { isShortage } from '../shortage.ts';
import type { Ms } from '../time-units.ts';
import { type BrokenOutcome, type MayRepeat, SentRequest } from './sent-request.ts';

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

const NO_BYTES = Buffer.alloc(0);
/** The wait for the first bytes of a body that is not kept. */
const WORDS_WITHIN_MS: Ms = 100;

/** The maximum that is read and discarded of an unneeded body, to keep its connection. */
const MOST_DISCARDED_BYTES = 128 * 1024;

/**
 * Sends a GET, or a POST with a body, and reads its answer whole. Rejects with a {@link ProxyError}: `upstream-timeout`,
 * `upstream-unreachable`, `upstream-reset`, `upstream-too-large`, `upstream-invalid` for a body that was cut short, or
 * `overloaded` if this machine lacks a resource.
 */
export function readAnswer(
  dispatcher: Dispatcher,
  request: { readonly path: string; readonly headers: readonly string[]; readonly body?: string | undefined },
  dependencies: ReadAnswerDependencies,
): Promise<RawAnswer> {
  const { path, headers, body = null } = request;
  const method = body === null ? 'GET' : 'POST';
  const reader = new AnswerReader(dispatcher, { method, path, headers: headers as string[], body }, dependencies);
  reader.sendBy(dispatcher);
  return reader.answer;
}

/** Handles undici's callbacks for one answer. Undici's `request` would make a stream and a signal for each. */
class AnswerReader extends SentRequest {
  readonly answer: Promise<RawAnswer>;
  readonly #dependencies: ReadAnswerDependencies;
  readonly #isPost: boolean;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (error: ProxyError) => void;
  readonly #timer: NodeJS.Timeout;
  #givenUp: ProxyError | undefined;
  #wordsTimer: NodeJS.Timeout | undefined;
  #headers: IncomingHttpHeaders = {};
  /** The chunks of the body; absent for an unneeded body, and once the answer has ended. */
  #body: Buffer[] | undefined;
  #bytes = 0;

  constructor(pool: Dispatcher, request: Dispatcher.DispatchOptions, dependencies: ReadAnswerDependencies) {
    super({ pool, request, repeats: dependencies.mayRepeat ?? 'at once' });
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.answer = promise;
    this.#dependencies = dependencies;
    this.#isPost = request.method === 'POST';
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(onTimeout, dependencies.timeoutMs, this);
  }

  protected get isGivenUp(): boolean {
    return this.#givenUp !== undefined;
  }

  protected onSent(): void {
    // The request waited for a connection until its timeout. Throwing leaves the connection to the next request; an
    // abort would close it.
    if (this.#givenUp !== undefined) throw this.#givenUp;
  }

  protected onHead(_: Dispatcher.DispatchController, headers: IncomingHttpHeaders): void {
    this.#headers = headers;
    // A 501 may be the answer to a POST: its body decides.
    const isRead = outcomeOfStatus(this.status) === undefined || (this.#isPost && this.status === 501);
    if (isRead) this.#body = [];
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
    const [status, headers, body] = [this.status, this.#headers, this.#body];
    if (body === undefined) this.#resolveWith(NO_BYTES);
    else this.#resolve({ status, headers, body: joined(body) });
    this.#end();
  }

  protected onFailed(outcome: BrokenOutcome, cause: Error): void {
    this.#fail(outcome === 'invalid' ? cutShort(cause) : unanswered(cause, outcome === 'unreachable'));
  }

  #fail(error: ProxyError): void {
    // If the status decides alone, the words of the body matter only to operators.
    if (this.#wordsTimer !== undefined) this.#resolveWith(NO_BYTES);
    this.#reject(error);
    this.#end();
  }

  giveUp(error: ProxyError): void {
    this.#givenUp = error;
    this.#fail(error);
    this.controller?.abort(error);
  }

  /** Ends an answer whose status decides alone. The first words of its body are for operators. */
  #resolveWith(words: Buffer): void {
    this.#resolve({ status: this.status, headers: this.#headers, body: NO_BYTES, words });
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
