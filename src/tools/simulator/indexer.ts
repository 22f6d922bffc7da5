import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { answer } from './answer.ts';
import { Chain } from './chain.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import { Faults } from './faults.ts';
import { Gate } from './gate.ts';
import { type IndexerOperation, operationOf, Question } from './question.ts';
import { Replica } from './replica.ts';
import { RequestLog } from './request-log.ts';
import { sendAnswer } from './send-answer.ts';
import { Streaming } from './streaming.ts';
import { Workers } from './workers.ts';

/** How to start a simulated indexer. */
export interface IndexerOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default `1.3`. */
  readonly dialect?: Dialect;
  /** Default: a new chain with seed 1 and 60 masterchain blocks of history. */
  readonly chain?: Chain;
  /**
   * Chains made with the same options: each is one more replica behind the same address, and requests go to all of them
   * in turn. Messages go to the first replica alone.
   */
  readonly replicaChains?: readonly Chain[];
  /** The clock that drives the chain and the `Date` header, epoch ms. Default `Date.now`. */
  readonly now?: () => number;
}

const HISTORY_BLOCKS = 60;

/** The largest head of a request that the indexer reads. */
const MAX_HEADER_BYTES = 1024 * 1024;
const MAX_BODY_BYTES = 1024 * 1024;

async function bodyOf(request: AsyncIterable<Buffer>): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : 'too large';
}

/** A running simulated indexer: a real HTTP server on 127.0.0.1 that answers from its chain, or fails as configured. */
export class Indexer {
  readonly dialect: Dialect;
  readonly faults = new Faults();
  readonly requests = new RequestLog();
  /** The replicas that answer requests in turn; often only one. The first has `chain`. */
  readonly replicas: readonly [Replica, ...Replica[]];
  /** The Streaming API v2 on the same port. */
  readonly streaming: Streaming;
  readonly #now: () => number;
  readonly #server: Server;
  readonly #closing = new AbortController();
  readonly #workers = new Workers(this.#closing.signal);
  readonly #gates: { gate: Gate; operation: IndexerOperation | undefined }[] = [];

  constructor(options: IndexerOptions) {
    this.dialect = options.dialect ?? '1.3';
    this.#now = options.now ?? Date.now;
    const replica = (chain: Chain) => new Replica(chain, this.#now);
    const first = replica(options.chain ?? new Chain({ startAt: this.#now() - HISTORY_BLOCKS * 400 }));
    this.replicas = [first, ...(options.replicaChains ?? []).map(replica)];
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES },
      (request, response) => void this.#serve(request, response),
    );
    this.streaming = new Streaming({ chain: () => this.replicas[0].chain, dialect: this.dialect });
    this.#server.on('upgrade', (request, socket) => this.streaming.accept(request, socket));
  }

  /** The chain as the first replica has indexed it: up to the present, unless a test holds the replica back. */
  get chain(): Chain {
    return this.replicas[0].chain;
  }

  /** 0 when it does not listen. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** `http://127.0.0.1:PORT`, without `/api/v3`. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Where its Streaming API is, as a setting names it: without a path. */
  get streamUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Requests that wait for a worker. */
  get queued(): number {
    return this.#workers.queued;
  }

  /** Listens; rejects when the port is taken. Called once, by `startIndexer`. */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Returns a gate at which requests, of one operation or all, wait from now on. */
  hold(operation?: IndexerOperation): Gate {
    const gate = new Gate();
    this.#gates.push({ gate, operation });
    return gate;
  }

  /** Ends the listener, every connection and every wait. A new indexer may take its port and its chain. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const closed = once(this.#server, 'close');
    this.#closing.abort();
    this.#server.close();
    this.#server.closeAllConnections();
    this.streaming.cut();
    for (const { gate } of this.#gates) gate.release();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(request);
      if (body === 'too large')
        response.writeHead(413, { Connection: 'close' }).end('{"error":"Request Entity Too Large"}');
      else await this.#answer(request, response, body);
    } catch (error) {
      // A client that left, or a closing indexer, ends requests under way; any other error is a bug of ours.
      const ended = request.socket.destroyed || this.#closing.signal.aborted;
      request.socket.destroy();
      if (!ended) throw error;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const { method = 'GET', url: target = '/', headers } = request;
    const operation = operationOf(target);
    const signal = this.#closing.signal;
    const left = new Promise<void>((resolve) => void response.once('close', resolve));
    // Ignore errors of writing to a client that has left.
    response.on('error', () => {});
    const done = this.requests.begin({ method, target, operation, headers, body, at: this.#now() });
    const number = this.requests.total;
    try {
      const fault = this.faults.take(operation);
      await this.#gateOf(operation)?.pass();
      await this.#work(signal);
      if (fault?.kind === 'hang') return void (await left);
      if (fault?.kind === 'late') await delay(fault.ms, undefined, { signal });
      if (fault?.kind === 'reset') return void request.socket.resetAndDestroy();
      const asked = { method, target, headers: request.headersDistinct };
      const question = new Question(asked, { chain: this.#replicaFor(operation, number).chain, dialect: this.dialect });
      response.sendDate = false;
      response.setHeader('Date', new Date(this.#now()).toUTCString());
      response.setHeader('X-API-Version', DIALECTS[this.dialect].apiVersion);
      const said = fault?.kind === 'answer' ? fault : answer(question);
      await sendAnswer(request, response, said, { fault, gzips: this.faults.gzips, signal });
      await left;
    } finally {
      done();
    }
  }

  #replicaFor(operation: IndexerOperation, number: number): Replica {
    const [first] = this.replicas;
    return operation === 'message' ? first : (this.replicas[number % this.replicas.length] ?? first);
  }

  #gateOf(operation: IndexerOperation): Gate | undefined {
    return this.#gates.find(({ gate, operation: only }) => !gate.isOpen && (only === undefined || only === operation))
      ?.gate;
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { latencyMs, jitterMs, workers } = this.faults;
    const waitMs = latencyMs + Math.random() * jitterMs;
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
    if (workers !== undefined) await this.#workers.work(workers);
  }
}

/** Starts a simulated indexer that listens on 127.0.0.1 only; rejects when its port is taken. */
export async function startIndexer(options: IndexerOptions = {}): Promise<Indexer> {
  const indexer = new Indexer(options);
  await indexer.listen(options.port ?? 0);
  return indexer;
}
