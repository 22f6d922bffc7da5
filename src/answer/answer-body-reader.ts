import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ownedBytes } from '../cache/entry.ts';
import type { UpstreamAnswer } from '../indexer/upstream-client.ts';
import type { Call } from '../ton/parse-call.ts';
import type { BodyDone, BodyJob } from './answer-body-worker.ts';
import { type BodyFacts, factsOf, NO_FACTS } from './body-facts.ts';

/** Bodies up to this length are read on the main thread: that takes 2 ms, up to 14 ms for a body made to be slow. */
const AT_ONCE_BYTES = 256 * 1024;

/** Enough for any body that `costsTooMuch` lets pass; one that needs more ends the worker, and is an invalid answer. */
const WORKER_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 };

/** An answer whose body was read. */
export interface ReadAnswer extends UpstreamAnswer {
  readonly facts: BodyFacts;
}

interface WaitingBody {
  readonly call: Call;
  readonly answer: UpstreamAnswer;
  /** The length of the body, which is 0 once its bytes were transferred. */
  readonly length: number;
  readonly resolve: (read: ReadAnswer) => void;
}

/**
 * Reads the bodies of answers: small ones at once, large ones one after the other in a worker thread, where they delay
 * no other request. The first large body starts the worker. When the worker dies or cannot be started, the body that it
 * was to read is an invalid answer, and the next body starts another worker. The queue is bounded by the slots of the
 * indexer, and by `upstream.maxReading` through {@link pendingBytes}.
 */
export class AnswerBodyReader {
  readonly #onBug: (error: unknown) => void;
  readonly #isWatching: boolean;
  readonly #waiting: WaitingBody[] = [];
  #pendingBytes = 0;
  #reading: WaitingBody | undefined;
  #worker: Worker | undefined;

  /**
   * `onBug` is called with the reason why the worker ended, unless it reached its memory limit. `isWatching`: whether
   * there is a stream of events, which needs the accounts and hashes in bodies.
   */
  constructor(onBug: (error: unknown) => void, isWatching = false) {
    this.#onBug = onBug;
    this.#isWatching = isWatching;
  }

  /** Bytes of the bodies that wait for the worker or are being read there. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Never rejects: a body that cannot be read is an invalid answer ({@link NO_FACTS}). */
  read(call: Call, answer: UpstreamAnswer): ReadAnswer | Promise<ReadAnswer> {
    const { status, body } = answer;
    if (body.length <= AT_ONCE_BYTES) return { ...answer, facts: factsOf(call, status, body, this.#isWatching) };
    const { length } = body;
    this.#pendingBytes += length;
    return new Promise((resolve) => {
      this.#waiting.push({ call, answer, length, resolve });
      this.#readNext();
    });
  }

  /** Ends the worker. The body that it was reading is an invalid answer. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #readNext(): void {
    if (this.#reading !== undefined) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#reading = next;
    const { call, answer } = next;
    const bytes = wholeBuffer(answer.body);
    const job: BodyJob = {
      operation: call.operation.name,
      request: call.request,
      status: answer.status,
      isWatching: this.#isWatching,
      bytes,
    };
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(job, [bytes]);
    } catch (error) {
      // The system allows no more threads.
      this.#onBug(error);
      this.#end(NO_FACTS, Buffer.alloc(0));
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./answer-body-worker${extname(import.meta.url)}`, import.meta.url), {
      execArgv: [],
      env: {},
      resourceLimits: WORKER_LIMITS,
    });
    worker.unref();
    worker.on('message', ({ facts, bytes }: BodyDone) => {
      // A Buffer arrives as a plain Uint8Array.
      this.#end(
        { ...facts, members: Buffer.from(facts.members), tentative: Buffer.from(facts.tentative) },
        Buffer.from(bytes),
      );
    });
    worker.on('error', (error: Error & { code?: unknown }) => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') this.#onBug(error);
    });
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#end(NO_FACTS, Buffer.alloc(0));
    });
    return worker;
  }

  #end(facts: BodyFacts, body: Buffer): void {
    const read = this.#reading;
    if (read === undefined) return;
    this.#reading = undefined;
    this.#pendingBytes -= read.length;
    read.resolve({ ...read.answer, body, facts });
    this.#readNext();
  }
}

/** The bytes in an ArrayBuffer of their own, which can be transferred. */
function wholeBuffer(body: Buffer): ArrayBuffer {
  const { buffer } = body.byteLength === body.buffer.byteLength ? body : ownedBytes(body);
  return buffer as ArrayBuffer;
}
