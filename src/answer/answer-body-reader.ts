import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { completenessOf } from '../cache/entry.ts';
import type { UpstreamAnswer } from '../indexer/upstream-client.ts';
import { type BlockFacts, NO_BLOCK_FACTS } from '../ton/block-facts.ts';
import type { Call } from '../ton/parse-call.ts';
import type { BodyJob } from './answer-body-worker.ts';
import {
  type BodyFacts,
  blockFactsIn,
  factsOf,
  NO_FACTS,
  NOTHING_SHOWN,
  type Readable,
  type ShownInBody,
  shownIn,
} from './body-facts.ts';

/** Bodies up to this length are read on the main thread: that takes 2 ms. */
const AT_ONCE_BYTES = 256 * 1024;

/**
 * Enough for the bodies of an indexer, which have at most one value per 27 bytes, and for 8 MiB of any JSON (measured
 * with 2.8 million empty objects). A body that needs more ends the worker, and counts as an invalid answer.
 */
const WORKER_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 };

export interface AnswerBodyReaderDependencies {
  /** Called with the reason why the worker ended, unless it reached its memory limit. */
  readonly onBug: (error: unknown) => void;
  /** Called with the change in the number of bytes that wait for the worker or are being read there. */
  readonly onReading: (change: number) => void;
}

/**
 * Reads the bodies of answers: small ones immediately, large ones one after the other in a worker thread, where they
 * delay no other request. The first large body starts the worker. If the worker dies or cannot be started, its body
 * counts as an invalid answer, and the next body starts another worker. The queue is bounded by the slots of the
 * indexer, and by `upstream.maxBufferedSize`.
 */
export class AnswerBodyReader {
  readonly #dependencies: AnswerBodyReaderDependencies;
  /** Ends when all bodies so far are read. */
  #last: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;

  constructor(dependencies: AnswerBodyReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Never rejects: a body that cannot be read is an invalid answer ({@link NO_FACTS}). `rowsFrom`: the first masterchain
   * block whose final transactions are of interest.
   */
  read(
    { operation, request }: Call,
    { status, body }: UpstreamAnswer,
    rowsFrom = Number.POSITIVE_INFINITY,
  ): BodyFacts | Promise<BodyFacts> {
    if (body.length <= AT_ONCE_BYTES) return factsOf({ operation, request }, status, body, rowsFrom);
    const job: BodyJob = { reads: 'facts', operation: operation.name, request, status, rowsFrom, body };
    return this.#readInTurn<BodyFacts>(job, NO_FACTS).then((facts) => {
      // A Buffer arrives as a plain Uint8Array.
      const { members, tentative, states } = facts.completeness;
      const buffers = {
        members: Buffer.from(members),
        tentative: Buffer.from(tentative),
        states: states && Buffer.from(states),
      };
      return { ...facts, completeness: completenessOf({ ...facts.completeness, ...buffers }) };
    });
  }

  /** What a body shows about blocks. Never rejects: an unreadable body shows nothing. */
  async readBlocks(body: Buffer): Promise<BlockFacts> {
    if (body.length <= AT_ONCE_BYTES) return blockFactsIn(body);
    return this.#readInTurn<BlockFacts>({ reads: 'block-facts', body }, NO_BLOCK_FACTS);
  }

  /**
   * What the body of an entry shows of accounts. `rowsFrom` as in {@link read}. Never rejects: an unreadable body shows
   * nothing.
   */
  async readShown({ operation, request }: Readable, body: Buffer, rowsFrom: number): Promise<ShownInBody> {
    if (body.length <= AT_ONCE_BYTES) return shownIn({ operation, request }, body, rowsFrom);
    const job: BodyJob = { reads: 'shown', operation: operation.name, request, rowsFrom, body };
    return this.#readInTurn<ShownInBody>(job, NOTHING_SHOWN);
  }

  /** Ends the worker. The body that it is reading counts as an invalid answer. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #readInTurn<Facts>(job: BodyJob, unread: Facts): Promise<Facts> {
    const { onReading } = this.#dependencies;
    const { length } = job.body;
    onReading(length);
    const facts = this.#last.then(() => this.#readInWorker(job, unread)).finally(() => onReading(-length));
    this.#last = facts;
    return facts;
  }

  #readInWorker<Facts>(job: BodyJob, unread: Facts): Promise<Facts> {
    const { promise, resolve } = Promise.withResolvers<Facts>();
    try {
      this.#worker ??= this.#start();
      const worker = this.#worker;
      const onExit = () => resolve(unread);
      worker.once('message', (facts: Facts) => {
        worker.off('exit', onExit);
        resolve(facts);
      });
      worker.once('exit', onExit);
      worker.postMessage(job);
    } catch (error) {
      // The system allows no more threads.
      this.#dependencies.onBug(error);
      resolve(unread);
    }
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./answer-body-worker${extname(import.meta.url)}`, import.meta.url), {
      execArgv: [],
      env: {},
      resourceLimits: WORKER_LIMITS,
    });
    worker.unref();
    worker.on('error', (error: Error & { code?: unknown }) => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') this.#dependencies.onBug(error);
    });
    worker.on('exit', () => {
      this.#worker = undefined;
    });
    return worker;
  }
}
