import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Chain } from './chain.ts';
import type { Dialect } from './dialect.ts';
import { SeededRandom } from './seeded-random.ts';
import { eventsOf, type StreamStep, stepsBetween } from './stream-events.ts';
import { StreamFaults } from './stream-faults.ts';
import { StreamSubscription } from './stream-subscription.ts';
import type { Trace } from './trace.ts';
import { WebSocketConnection } from './web-socket.ts';

const PATH = '/api/streaming/v2/ws';

/** How often it looks whether the chain got on: events are as late, and never before the data. */
const LOOK_EVERY_MS = 3;

interface Subscriber {
  readonly socket: WebSocketConnection;
  readonly subscription: StreamSubscription;
  /** Traces of which it was sent something that was not final. */
  readonly sentNonFinal: Set<string>;
}

export interface StreamingOptions {
  /** The chain as far as it got by now. */
  readonly chain: () => Chain;
  readonly dialect: Dialect;
}

/**
 * The Streaming API v2 of the simulated indexer: what it says when, and what it does not say, is that of the real
 * server. No replay, no sequence numbers, no pings of its own.
 */
export class Streaming {
  readonly faults = new StreamFaults();
  /** Every message of every client, as it came. */
  readonly messages: string[] = [];
  readonly #options: StreamingOptions;
  readonly #subscribers = new Set<Subscriber>();
  readonly #random = new SeededRandom('streaming');
  #looking: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #traces: ReadonlySet<Trace> = new Set();

  constructor(options: StreamingOptions) {
    this.#options = options;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#subscribers.size;
  }

  /** All addresses and hashes that are subscribed to. */
  get subscribed(): ReadonlySet<string> {
    return new Set([...this.#subscribers].flatMap(({ subscription: it }) => [...it.addresses, ...it.hashes]));
  }

  /** Takes the handshake of a client over. */
  accept(request: IncomingMessage, socket: Duplex): void {
    const { refusesConnections, apiKey } = this.faults;
    if (refusesConnections) {
      socket.destroy();
      return;
    }
    const isRefused = apiKey !== undefined && request.headers['x-api-key'] !== apiKey;
    if (request.url !== PATH || isRefused) {
      socket.end(`HTTP/1.1 ${isRefused ? '401 Unauthorized' : '404 Not Found'}\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#add(new WebSocketConnection(request, socket));
  }

  /** Ends all connections, as a restart does: without a close frame. */
  cut(): void {
    for (const subscriber of this.#subscribers) this.#remove(subscriber);
  }

  /** Sends a message as it is to every client. */
  sayToAll(text: string): void {
    for (const { socket } of this.#subscribers) socket.send(text);
  }

  /** Sends so many events at once that name an account: of traces that nobody has asked for. */
  flood(account: string, count: number): void {
    for (let n = 0; n < count; n++) {
      const hash = Buffer.alloc(32, n % 251).toString('base64');
      const message = { type: 'transactions', finality: 'pending', trace_external_hash_norm: hash };
      const text = JSON.stringify({ ...message, transactions: [{ account, hash, emulated: true }] });
      for (const subscriber of this.#subscribers) {
        if (subscriber.subscription.addresses.has(account)) this.#send(subscriber, text);
      }
    }
  }

  /** Publishes what the chain got on by since the last look. It happens by itself within milliseconds. */
  look(): void {
    if (this.faults.stalled) return;
    const chain = this.#options.chain();
    const pending = new Set(chain.pendingTraces());
    const traces = [...this.#traces.union(pending)];
    const steps = traces.flatMap((trace) => stepsBetween(trace, this.#lookedAt, chain.now, this.faults));
    for (const step of steps.sort((one, other) => one.at - other.at)) this.#publish(step);
    this.#lookedAt = chain.now;
    this.#traces = pending;
  }

  #add(socket: WebSocketConnection): void {
    const subscription = new StreamSubscription(this.faults);
    const subscriber: Subscriber = { socket, subscription, sentNonFinal: new Set() };
    if (this.#subscribers.size === 0) this.#startLooking();
    this.#subscribers.add(subscriber);
    socket.onMessage = (text) => {
      this.messages.push(text);
      const reply = subscription.take(text);
      if (this.faults.answersSubscriptions || reply.status === 'pong') socket.send(JSON.stringify(reply));
    };
    socket.onEnd = () => this.#remove(subscriber);
  }

  #remove(subscriber: Subscriber): void {
    subscriber.socket.destroy();
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) clearInterval(this.#looking);
  }

  #startLooking(): void {
    const chain = this.#options.chain();
    this.#lookedAt = chain.now;
    this.#traces = new Set(chain.pendingTraces());
    this.#looking = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  #publish(step: StreamStep): void {
    const { externalHash } = step.trace;
    for (const subscriber of this.#subscribers) {
      const { subscription, sentNonFinal } = subscriber;
      for (const event of eventsOf(step, subscription, this.#options.dialect)) {
        if (event.finality !== 'finalized') sentNonFinal.add(externalHash);
        this.#send(subscriber, JSON.stringify(event));
      }
      if (step.kind === 'invalidated' && sentNonFinal.delete(externalHash)) {
        this.#send(subscriber, JSON.stringify({ type: 'trace_invalidated', trace_external_hash_norm: externalHash }));
      }
    }
  }

  #send(subscriber: Subscriber, text: string): void {
    const { lostShare, duplicatedShare } = this.faults;
    if (this.#random.chance(lostShare)) return;
    subscriber.socket.send(text);
    if (this.#random.chance(duplicatedShare)) subscriber.socket.send(text);
  }
}
