import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Chain } from './chain.ts';
import type { Dialect } from './dialect.ts';
import { EventSourceConnection } from './event-source.ts';
import { StreamFaults } from './faults.ts';
import { eventsOf, type StreamStep, StreamSubscription, stepsBetween } from './stream-events.ts';
import type { Trace } from './trace.ts';
import { WebSocketConnection } from './web-socket.ts';

const PATH = '/api/streaming/v2/ws';
const EVENTS_PATH = '/api/streaming/v2/sse';

/** A client, by WebSocket or by server-sent events. */
type StreamingConnection = WebSocketConnection | EventSourceConnection;

/**
 * The interval at which it looks for progress of the chain: events come at most about this much after the data, and
 * never before.
 */
const LOOK_EVERY_MS = 3;

function isAt(path: string, { url = '' }: Pick<IncomingMessage, 'url'>): boolean {
  return url.split('?', 1)[0] === path;
}

/** What the Streaming API is made from. */
export interface StreamingOptions {
  /** The chain up to now. */
  readonly chain: () => Chain;
  readonly dialect: Dialect;
}

/** The Streaming API v2 with the behaviour of the real server: no replay, no sequence numbers, no pings of its own. */
export class Streaming {
  readonly faults = new StreamFaults();
  /** The requests of all clients, handshakes included. */
  readonly requests: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  readonly #options: StreamingOptions;
  readonly #subscriptions = new Map<StreamingConnection, StreamSubscription>();
  #looking: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #traces: ReadonlySet<Trace> = new Set();

  constructor(options: StreamingOptions) {
    this.#options = options;
  }

  get connections(): number {
    return this.#subscriptions.size;
  }

  /** Takes the handshake of a client over. */
  accept(request: IncomingMessage, socket: Duplex): void {
    const { refusesConnections, apiKey } = this.faults;
    this.requests.push(request);
    const isRefused = apiKey !== undefined && request.headers['x-api-key'] !== apiKey;
    if (refusesConnections) socket.destroy();
    else if (isAt(PATH, request) && !isRefused) this.#addSocket(new WebSocketConnection(request, socket));
    else socket.end(`HTTP/1.1 ${isRefused ? '401 Unauthorized' : '404 Not Found'}\r\nContent-Length: 0\r\n\r\n`);
  }

  /** Answers a request that is not a handshake; `false` for one outside of the Streaming API. */
  answer({ url, method, headers }: IncomingMessage, body: Buffer, response: ServerResponse): boolean {
    const { refusesConnections, apiKey } = this.faults;
    const isEvents = method === 'POST' && isAt(EVENTS_PATH, { url });
    if (!isEvents && !isAt(PATH, { url })) return false;
    this.requests.push({ url, headers });
    if (!isEvents) response.writeHead(426).end();
    else if (refusesConnections) response.destroy();
    else if (apiKey !== undefined && headers['x-api-key'] !== apiKey) response.writeHead(401).end();
    else this.#addEvents(body.toString(), response);
    return true;
  }

  /** Ends all connections, as a restart does: without a close frame. */
  cut(): void {
    for (const socket of this.#subscriptions.keys()) this.#remove(socket);
  }

  sayToAll(text: string): void {
    for (const socket of this.#subscriptions.keys()) socket.send(text);
  }

  /** Sends this many events at once that name an account: of traces without subscribers. */
  flood(account: string, count: number): void {
    for (let n = 0; n < count; n++) {
      const hash = Buffer.alloc(32, n % 251).toString('base64');
      const message = { type: 'transactions', finality: 'pending', trace_external_hash_norm: hash };
      const event = { ...message, transactions: [{ account, hash, emulated: true }] };
      for (const [socket, { addresses }] of this.#subscriptions)
        if (addresses.has(account)) socket.send(JSON.stringify(event));
    }
  }

  #addSocket(socket: WebSocketConnection): void {
    const subscription = new StreamSubscription();
    this.#add(socket, subscription);
    socket.onMessage = (text) => socket.send(JSON.stringify(subscription.take(text)));
  }

  /** The body of the request is the only subscription. */
  #addEvents(text: string, response: ServerResponse): void {
    const subscription = new StreamSubscription();
    const reply = subscription.take(text);
    if ('error' in reply) response.writeHead(400).end(JSON.stringify(reply));
    else {
      const events = new EventSourceConnection(response);
      this.#add(events, subscription);
      events.send(JSON.stringify(reply));
    }
  }

  #add(socket: StreamingConnection, subscription: StreamSubscription): void {
    if (this.#subscriptions.size === 0) {
      const chain = this.#options.chain();
      this.#lookedAt = chain.now;
      this.#traces = new Set(chain.pendingTraces());
      this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    }
    this.#subscriptions.set(socket, subscription);
    socket.onEnd = () => this.#remove(socket);
  }

  #remove(socket: StreamingConnection): void {
    socket.destroy();
    this.#subscriptions.delete(socket);
    if (this.#subscriptions.size === 0) clearInterval(this.#looking);
  }

  /** Publishes the progress of the chain since the last look. */
  #look(): void {
    const chain = this.#options.chain();
    const pending = new Set(chain.pendingTraces());
    const traces = [...this.#traces.union(pending)];
    const steps = traces.flatMap((trace) => stepsBetween(trace, this.#lookedAt, chain.now));
    for (const step of steps.sort((one, other) => one.at - other.at)) this.#publish(step);
    this.#lookedAt = chain.now;
    this.#traces = pending;
  }

  #publish(step: StreamStep): void {
    const { externalHash } = step.trace;
    for (const [socket, subscription] of this.#subscriptions) {
      for (const event of eventsOf(step, subscription, this.#options.dialect)) {
        if (event.finality !== 'finalized') subscription.sentNonFinal.add(externalHash);
        socket.send(JSON.stringify(event));
      }
      if (step.kind === 'invalidated' && subscription.sentNonFinal.delete(externalHash)) {
        socket.send(JSON.stringify({ type: 'trace_invalidated', trace_external_hash_norm: externalHash }));
      }
    }
  }
}
