import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ownedBytes } from '../cache/entry.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer } from '../upstream/upstream-client.ts';
import type { BodyDone, BodyJob } from './answer-body-worker.ts';
import { type BodyFacts, factsOf, NO_FACTS } from './body-facts.ts';
import { hasMoreValues } from './has-more-values.ts';

/** Up to this length any body is parsed at once: made to be slow it takes up to 80 ms. */
const SMALL_BYTES = 256 * 1024;
/** Up to this length a body is parsed at once if it holds few values: a scan of 1 ms tells. */
const MEDIUM_BYTES = 1024 * 1024;
const FEW_VALUES = 25_000;

/** Enough for a string of 8 MiB in UTF-16 and for the values that the worker accepts. More ends the worker only. */
const WORKER_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 };

/** An answer whose body was read. */
export interface ReadAnswer extends UpstreamAnswer {
  readonly facts: BodyFacts;
}

interface Waiting {
  readonly call: Call;
  readonly answer: UpstreamAnswer;
  /** The length of the body, which is 0 once its bytes were transferred. */
  readonly length: number;
  readonly resolve: (read: ReadAnswer) => void;
}

/**
 * Reads the bodies of answers: small ones at once, large ones one after the other in a worker thread, because a bound on
 * bytes does not bound the time of `JSON.parse`. The first large body starts the worker. When the worker dies, the body
 * that it was reading counts as no answer, and the next body starts another worker. The queue is bounded by the slots of
 * the indexer, and by `upstream.maxReading` through {@link pendingBytes}.
 */
export class AnswerBodyReader {
  readonly #onBug: (error: unknown) => void;
  readonly #waiting: Waiting[] = [];
  #pendingBytes = 0;
  #reading: Waiting | undefined;
  #worker: Worker | undefined;

  /** `onBug` is called with the reason why the worker ended, unless it reached its memory limit. */
  constructor(onBug: (error: unknown) => void) {
    this.#onBug = onBug;
  }

  /** Bytes of the bodies that wait for the worker or are being read there. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Never rejects: a body that cannot be read is no answer. */
  read(call: Call, answer: UpstreamAnswer): ReadAnswer | Promise<ReadAnswer> {
    if (isQuick(answer.body)) return { ...answer, facts: factsOf(call, answer.status, answer.body) };
    const { length } = answer.body;
    this.#pendingBytes += length;
    return new Promise((resolve) => {
      this.#waiting.push({ call, answer, length, resolve });
      this.#readNext();
    });
  }

  /** Ends the worker. The body that it was reading is no answer. */
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
    const job: BodyJob = { operation: call.operation.name, request: call.request, status: answer.status, bytes };
    this.#worker ??= this.#start();
    this.#worker.postMessage(job, [bytes]);
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

function isQuick(body: Buffer): boolean {
  return body.length <= SMALL_BYTES || (body.length <= MEDIUM_BYTES && !hasMoreValues(body, FEW_VALUES));
}

/** The bytes in a buffer that holds nothing else, so that it can be transferred. */
function wholeBuffer(body: Buffer): ArrayBuffer {
  const { buffer } = body.byteLength === body.buffer.byteLength ? body : ownedBytes(body);
  return buffer as ArrayBuffer;
}
