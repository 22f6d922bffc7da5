import type { Refusal } from '../../admission/guard.ts';
import { failure } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { ClientStream, type StreamEnd, type StreamSides } from './stream.ts';

export interface ClientStreamsOptions {
  /** The most streams at once, and of them those of one client. */
  readonly most: number;
  readonly mostPerClient: number;
  /** The most of them that are sent with our API key. */
  readonly mostWithOurKey: number;
  readonly onEnd: (kind: StreamSides['kind'], reason: StreamEnd) => void;
}

const LOOK_EVERY_MS: Ms = 1000;

/**
 * A stream is cut after so many looks at which nothing had come. Clients ping every 15 s, and a server of events writes a
 * comment as often. Looks are counted instead of time: a process that stood still cuts nobody when it goes on.
 */
const MOST_QUIET_LOOKS = 60;

const NO_PLACE: Refusal = { reason: 'queue-full', retryAfterMs: 0 };

/** The streams of clients that are open, and the bounds for them. */
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

  /** The streams of a kind that are open. */
  count(kind: StreamSides['kind']): number {
    return [...this.#open].filter((stream) => stream.kind === kind).length;
  }

  /** Those that do not end by themselves. */
  get lasting(): number {
    return this.count('websocket') + this.count('sse');
  }

  /** Why a client gets no place for a stream now. Throws a `ProxyError` if it has as many as one client may have. */
  refusal(client: string, withOurKey: boolean): Refusal | undefined {
    const { most, mostPerClient, mostWithOurKey } = this.#options;
    if ((this.#placesOf.get(client) ?? 0) >= mostPerClient) {
      // One that its client has left without a word is cut by then.
      const waitMs = MOST_QUIET_LOOKS * LOOK_EVERY_MS;
      throw failure('too-many-requests', { text: 'streams', values: { most: mostPerClient }, waitMs });
    }
    const isFull = this.#places >= most || (withOurKey && this.#placesWithOurKey >= mostWithOurKey);
    return isFull ? NO_PLACE : undefined;
  }

  /** Takes a place for a stream of a client, which is given back by a call of the returned function. */
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
