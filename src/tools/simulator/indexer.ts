import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { answer, type SimulatedAnswer } from './answer.ts';
import { Chain } from './chain.ts';
import type { DatabaseFall } from './database-fall.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import { type Fault, Faults } from './faults.ts';
import { Gate } from './gate.ts';
import { type IndexerOperation, operationOf } from './operations.ts';
import { type AskedRequest, SimulatorQuestion } from './question.ts';
import { RequestLog } from './request-log.ts';
import { Streaming } from './streaming.ts';

/** The options of a simulated indexer; the default dialect is 1.3. */
export interface IndexerOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** The address to listen on; default 127.0.0.1. */
  readonly host?: string;
  readonly dialect?: Dialect;
  /** Default: a new chain with seed 1 and 60 masterchain blocks of history. */
  readonly chain?: Chain;
  /** Chains made with the same options, of more replicas behind the same address, see {@link Faults.balances}. */
  readonly replicaChains?: readonly Chain[];
  /** The clock that drives the chain and the `Date` header, epoch ms. Default `Date.now`. */
  readonly now?: () => number;
}

/** The largest head of a request that the indexer reads. */
const MAX_HEADER_BYTES = 1024 * 1024;

/** The parts of a database that can be behind by themselves: for requests by block, by account or hash, about jettons. */
export type DatabasePart = 'blocks' | 'accounts' | 'jettons';

const PARTS: Partial<Record<IndexerOperation, readonly DatabasePart[]>> = {
  masterchainInfo: ['blocks'],
  blocks: ['blocks'],
  masterchainBlockShards: ['blocks'],
  transactionsByMasterchainBlock: ['blocks'],
  transactions: ['accounts'],
  addressInformation: ['accounts'],
  walletInformation: ['accounts'],
  accountStates: ['accounts'],
  walletStates: ['accounts'],
  'jetton/wallets': ['accounts', 'jettons'],
  'jetton/transfers': ['accounts', 'jettons'],
  'jetton/masters': ['accounts', 'jettons'],
};

/** Where get-methods run: a chain at an instant, epoch ms. */
export interface LiteServer {
  readonly chain: Chain;
  readonly at: number;
}

/** One indexer with a database of its own. Blocks that it commits after a delay keep their original times. */
export interface Replica {
  /** The chain as this replica has indexed it. */
  readonly chain: Chain;
  /** The chain's time that its database has committed, as an operation sees it, epoch ms. */
  readonly databaseAt: (operation: IndexerOperation) => number;
  /** The time up to which its emulator has dropped ended traces, epoch ms. They do not come back. */
  readonly droppedAt: number;
  /** Stays this far behind the present, ms, or stands still: `Infinity`. Keeps its commits. */
  readonly lag: (ms: number) => void;
  /**
   * The same only for its database: its emulator continues, so pending traces become final as everywhere, but ended
   * traces leave later.
   */
  readonly lagDatabase: (ms: number) => void;
  /** The same for one part of the database. */
  readonly lagPart: (part: DatabasePart, ms: number) => void;
  /** Its database falls back once more. Its emulator continues, and drops traces by its own clock. */
  readonly fallBack: (fall: DatabaseFall) => void;
}

function replicaOf(chain: Chain, now: () => number): Replica {
  let lagMs = 0;
  const database = { lagMs: 0, at: Number.NEGATIVE_INFINITY };
  const parts = {
    blocks: { lagMs: 0, at: Number.NEGATIVE_INFINITY },
    accounts: { lagMs: 0, at: Number.NEGATIVE_INFINITY },
    jettons: { lagMs: 0, at: Number.NEGATIVE_INFINITY },
  };
  /** Commits stay when the lag grows. */
  const reach = (one: typeof database) => {
    one.at = Math.max(one.at, chain.now - one.lagMs);
    return one.at;
  };
  const falls: DatabaseFall[] = [];
  return {
    get chain() {
      chain.advanceTo(now() - lagMs);
      return chain;
    },
    databaseAt(operation) {
      const { now: chainAt } = this.chain;
      const partsAt = (PARTS[operation] ?? []).map((part) => reach(parts[part]));
      return Math.min(this.droppedAt, chainAt, ...partsAt, ...falls.map((fall) => fall.databaseAt(chainAt)));
    },
    get droppedAt() {
      chain.advanceTo(now() - lagMs);
      return reach(database);
    },
    lag: (ms) => {
      lagMs = ms;
    },
    lagDatabase: (ms) => {
      database.lagMs = ms;
    },
    lagPart: (part, ms) => {
      parts[part].lagMs = ms;
    },
    fallBack: (fall) => void falls.push(fall),
  };
}

/** A running simulated indexer: a real HTTP server that answers from its chain, or fails as configured. */
export class Indexer {
  readonly dialect: Dialect;
  readonly faults = new Faults();
  // Any number of listeners may wait for a request.
  readonly requests = new RequestLog().setMaxListeners(0);
  /** The replicas that answer requests, see {@link Faults.balances}; often only one. The first has `chain`. */
  readonly replicas: readonly [Replica, ...Replica[]];
  readonly streaming: Streaming;
  /** The lite server of a replica, which may be ahead of its database or behind. Default: at the replica's present. */
  liteServer: (replica: Replica) => LiteServer = ({ chain }) => ({ chain, at: chain.now });
  readonly #now: () => number;
  readonly #server: Server;
  readonly #closing = new AbortController();
  /** Sockets that have answered. */
  readonly #usedSockets = new WeakSet<Socket>();
  /** The replicas of connections, see {@link Faults.balances}. */
  readonly #replicaOfSocket = new WeakMap<Socket, Replica>();
  #balancedSockets = 0;
  readonly #gates: { gate: Gate; operation: IndexerOperation | undefined }[] = [];

  constructor(options: IndexerOptions) {
    this.dialect = options.dialect ?? '1.3';
    this.#now = options.now ?? Date.now;
    const first = options.chain ?? new Chain({ startAt: this.#now() - 60 * 400 });
    const more = options.replicaChains ?? [];
    this.replicas = [replicaOf(first, this.#now), ...more.map((chain) => replicaOf(chain, this.#now))];
    this.streaming = new Streaming({ chain: () => this.chain, dialect: this.dialect });
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        // A client that left, or a closing indexer, ends requests under way; any other error is our bug.
        const ended = request.socket.destroyed || this.#closing.signal.aborted;
        request.socket.destroy();
        if (!ended) throw error;
      });
    });
    this.#server.on('upgrade', (request, socket) => this.streaming.accept(request, socket));
  }

  /** The chain as the first replica has indexed it: up to the present, unless a test holds the replica back. */
  get chain(): Chain {
    return this.replicas[0].chain;
  }

  /** 0 while it does not listen. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /**
   * `http://127.0.0.1:PORT`, without `/api/v3`: the address on this machine if it listens on 127.0.0.1, or on all
   * addresses.
   */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The address of its Streaming API in the form of a setting: without a path. */
  get streamUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Listens; rejects when the port is taken. Called once, by `startIndexer`. */
  async listen(port: number, host = '127.0.0.1'): Promise<void> {
    this.#server.listen(port, host);
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
    const { method = 'GET', url: target = '/', headers } = request;
    const operation = operationOf(target);
    const { signal } = this.#closing;
    const body = await buffer(request);
    const left = new Promise<void>((resolve) => void response.once('close', resolve));
    // Ignore errors of writing to a client that has left.
    response.on('error', () => {});
    const done = this.requests.begin({ method, target, operation, headers, body, at: this.#now() });
    const replica = this.#replicaFor(operation, request.socket);
    try {
      if (this.streaming.answer(request, body, response)) return await left;
      const fault = this.faults.take(operation, target);
      await this.#gateOf(operation)?.pass();
      await this.faults.wait(signal);
      if (fault?.kind === 'hang') return await left;
      if (fault?.kind === 'reset') return void request.socket.resetAndDestroy();
      if (fault?.kind === 'close-used' && this.#usedSockets.has(request.socket))
        return void request.socket.destroySoon();
      const asked = { method, target, headers: request.headersDistinct, body };
      const question = this.#questionOf(asked, operation, replica);
      response.sendDate = false;
      response.setHeader('Date', new Date(this.#now()).toUTCString());
      response.setHeader('X-API-Version', DIALECTS[this.dialect].apiVersion);
      this.#usedSockets.add(request.socket);
      await sendAnswer(response, answerWith(fault, question), fault, signal);
      await left;
    } finally {
      done();
    }
  }

  #questionOf(asked: AskedRequest, operation: IndexerOperation, replica: Replica): SimulatorQuestion {
    const { dialect } = this;
    if (operation === 'runGetMethod') {
      const { chain, at: instant } = this.liteServer(replica);
      return new SimulatorQuestion(asked, { chain, dialect, instant });
    }
    const { chain, droppedAt } = replica;
    return new SimulatorQuestion(asked, { chain, dialect, databaseAt: replica.databaseAt(operation), droppedAt });
  }

  #replicaFor(operation: IndexerOperation, socket: Socket): Replica {
    const [first] = this.replicas;
    if (operation === 'message') return first;
    const nth = (n: number) => this.replicas[n % this.replicas.length] ?? first;
    if (this.faults.balances === 'requests') return nth(this.requests.total);
    const known = this.#replicaOfSocket.get(socket) ?? nth(this.#balancedSockets++);
    this.#replicaOfSocket.set(socket, known);
    return known;
  }

  #gateOf(operation: IndexerOperation): Gate | undefined {
    const applies = (only: IndexerOperation | undefined) => only === undefined || only === operation;
    return this.#gates.find(({ gate, operation: only }) => !gate.isOpen && applies(only))?.gate;
  }
}

/** Starts a simulated indexer, on 127.0.0.1 unless a host is given; rejects when it cannot listen there. */
export async function startIndexer(options: IndexerOptions = {}): Promise<Indexer> {
  const indexer = new Indexer(options);
  await indexer.listen(options.port ?? 0, options.host);
  return indexer;
}

function answerWith(fault: Fault | undefined, question: SimulatorQuestion): SimulatedAnswer {
  if (fault?.kind === 'answer') return fault;
  const truth = answer(question);
  return fault?.kind === 'head' ? { ...truth, body: headSaying(fault, String(truth.body)) } : truth;
}

/** The answer to `masterchainInfo` with the values of a fault; any other answer unchanged. */
function headSaying({ seqno, globalId, first }: Extract<Fault, { kind: 'head' }>, truth: string): string {
  const body: { first?: object; last?: object } = JSON.parse(truth);
  if (body.last === undefined) return truth;
  const last = {
    ...body.last,
    ...(seqno !== undefined && { seqno }),
    ...(globalId !== undefined && { global_id: globalId }),
  };
  return JSON.stringify({ ...body, last, ...(first !== undefined && { first: { ...body.first, seqno: first } }) });
}

function padded(body: Buffer, bytes: number): Buffer {
  const before = Buffer.concat([body.subarray(0, -1), Buffer.from(',"padding":"')]);
  const after = Buffer.from('"}');
  return Buffer.concat([before, Buffer.alloc(Math.max(0, bytes - before.length - after.length), 'x'), after]);
}

/** Sends an answer, unless the client has left; wrong if its fault is `cut`, `huge` or `slow`. */
async function sendAnswer(
  response: ServerResponse,
  answer: SimulatedAnswer,
  fault: Fault | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (response.destroyed) return;
  let body: Buffer = Buffer.from(answer.body);
  if (fault?.kind === 'huge' && body.at(-1) === 0x7d) body = padded(body, fault.bytes);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  const chunked = (fault?.kind === 'cut' || fault?.kind === 'huge') && fault.framing === 'chunked';
  if (!chunked) response.setHeader('Content-Length', body.length);

  if (fault?.kind === 'cut') {
    response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroySoon());
    return;
  }
  const { chunkBytes, pauseMs } = fault?.kind === 'slow' ? fault : { chunkBytes: body.length, pauseMs: 0 };
  for (let start = 0; start < body.length && !response.destroyed; start += chunkBytes) {
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
    response.write(body.subarray(start, start + chunkBytes));
  }
  response.end();
}
