import type { Refusal } from '../../admission/guard.ts';
import { failure } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { ClientStream, type StreamEnd, type StreamSides } from './stream.ts';

export interface ClientStreamsOptions {
  /** The maximum number of streams, in all and of one client. */
  readonly most: number;
  readonly mostPerClient: number;
  /** The maximum number of streams with our API key. */
  readonly mostWithOurKey: number;
  readonly onEnd: (kind: StreamSides['kind'], reason: StreamEnd) => void;
}

const LOOK_EVERY_MS: Ms = 1000;

/**
 * A stream is cut after this many looks without any bytes. Clients ping every 15 s, and a server of events writes a
 * comment as often. Looks are counted instead of time: a process that stood still cuts nobody when it continues.
 */
const MOST_QUIET_LOOKS = 60;

const NO_PLACE: Refusal = { reason: 'queue-full', retryAfterMs: 0 };

/** The open streams of clients, and their limits. */
export class ClientStreams {
  readonly #options: ClientStreamsOptions;
  readonly #open = new Set<ClientStream>();
  readonly #placesOf = new Map<string, number>();
  #places = 0;
  #placesWithOurKey = 0;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ClientStreamsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** The number of open streams of a kind. */
  count(kind: StreamSides['kind']): number {
    return [...this.#open].filter((stream) => stream.kind === kind).length;
  }

  /** The number of streams that do not end by themselves. */
  get lasting(): number {
    return this.count('websocket') + this.count('sse');
  }

  /** Why a client gets no place for a stream now. Throws a `ProxyError` if it has its maximum. */
  refusal(client: string, withOurKey: boolean): Refusal | undefined {
    const { most, mostPerClient, mostWithOurKey } = this.#options;
    if ((this.#placesOf.get(client) ?? 0) >= mostPerClient) {
      // By then a stream whose client has disappeared is cut.
      const waitMs = MOST_QUIET_LOOKS * LOOK_EVERY_MS;
      throw failure('too-many-requests', { text: 'streams', values: { most: mostPerClient }, waitMs });
    }
    const isFull = this.#places >= most || (withOurKey && this.#placesWithOurKey >= mostWithOurKey);
    return isFull ? NO_PLACE : undefined;
  }

  /** Takes a place for a stream of a client. Call the returned function to give it back. */
  take(client: string, withOurKey: boolean): () => void {
    this.#places++;
    this.#placesWithOurKey += Number(withOurKey);
    this.#placesOf.set(client, (this.#placesOf.get(client) ?? 0) + 1);
    return () => {
      this.#places--;
      this.#placesWithOurKey -= Number(withOurKey);
      const left = (this.#placesOf.get(client) ?? 0) - 1;
      if (left > 0) this.#placesOf.set(client, left);
      else this.#placesOf.delete(client);
    };
  }

  /** Passes bytes between the two sides until one of them ends; calls `onEnd` then. */
  join(sides: StreamSides, onEnd: () => void): void {
    if (sides.client.destroyed) {
      sides.upstream.destroy();
      onEnd();
      return;
    }
    const stream: ClientStream = new ClientStream(sides, (reason) => {
      onEnd();
      this.#open.delete(stream);
      this.#options.onEnd(sides.kind, reason);
    });
    this.#open.add(stream);
    if (this.#isClosed) this.#endIfLasting(stream);
  }

  /** Ends all streams that do not end by themselves, and each later one. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#open) this.#endIfLasting(stream);
  }

  #endIfLasting(stream: ClientStream): void {
    if (stream.kind !== 'answer') stream.end('shutting-down');
  }

  #look(): void {
    for (const stream of this.#open) if (++stream.quietLooks > MOST_QUIET_LOOKS) stream.end('idle');
  }
}
