import type { Refusal } from '../../admission/guard.ts';
import { failure } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { ClientStream, MOST_QUIET_LOOKS, type StreamEnd, type StreamSides } from './stream.ts';

export interface ClientStreamsOptions {
  /** The maximum number of streams, in all and of one client. */
  readonly most: number;
  readonly mostPerClient: number;
  /** The maximum number of bytes that wait for clients in all streams together. */
  readonly mostWaitingBytes: number;
  readonly onEnd: (kind: StreamSides['kind'], reason: StreamEnd) => void;
}

/** The place of a stream, from its request until it has ended. */
export interface Place {
  readonly client: string;
  /** Set with the head of its answer. */
  stream?: ClientStream;
  /** The silent stream that is set aside for this one: no other gets its place meanwhile. */
  instead?: Place;
}

/** Looks are counted instead of time: a process that stood still cuts nobody when it continues. */
const LOOK_EVERY_MS: Ms = 1000;

const NO_PLACE: Refusal = { reason: 'streams-full', retryAfterMs: 0 };

/** The open streams of clients, and their limits. */
export class ClientStreams {
  readonly #options: ClientStreamsOptions;
  readonly #places = new Set<Place>();
  #waitingBytes = 0;
  #isClosed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ClientStreamsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      for (const { stream } of this.#places) stream?.look();
    }, LOOK_EVERY_MS).unref();
  }

  count(kind: StreamSides['kind']): number {
    return [...this.#places].filter(({ stream }) => stream?.kind === kind).length;
  }

  /** The number of streams that do not end by themselves. */
  get lasting(): number {
    return this.count('websocket') + this.count('sse');
  }

  /**
   * Takes a place; the caller gives it back, or joins a stream in it. If all places that it could be are taken, the WebSocket
   * in them whose client has been silent longest is set aside, if that is more than 60 s: its client may have disappeared. It
   * gives way once the server accepts the new stream ({@link join}), so it loses nothing by a request that is refused.
   * Without such a one, returns the refusal, or throws a `ProxyError` if the client has its maximum.
   */
  take(place: Place): Refusal | undefined {
    const { most, mostPerClient } = this.#options;
    const all = [...this.#places];
    const ofClient = all.filter(({ client }) => client === place.client);
    const isAtMaximum = ofClient.length >= mostPerClient;
    if (isAtMaximum || all.length >= most) {
      const silent = longestSilent(isAtMaximum ? ofClient : all, this.#setAside);
      if (silent !== undefined) place.instead = silent;
      else if (isAtMaximum) {
        // By then a WebSocket whose client has disappeared gives way.
        const waitMs = MOST_QUIET_LOOKS * LOOK_EVERY_MS;
        throw failure('too-many-requests', { text: 'streams', values: { most: mostPerClient }, waitMs });
      } else return NO_PLACE;
    }
    this.#places.add(place);
    return undefined;
  }

  /** Gives a place back, if it was taken. */
  give(place: Place): void {
    this.#places.delete(place);
  }

  /**
   * Passes bytes between the two sides until one of them ends, and gives the place back then. `isAccepted`: the server has
   * opened a stream, and not refused it.
   */
  join(place: Place, sides: StreamSides, isAccepted: boolean): void {
    if (sides.client.destroyed) {
      sides.upstream.destroy();
      this.give(place);
      return;
    }
    place.stream = new ClientStream(sides, {
      onWaiting: (change) => this.#onWaiting(change),
      onEnd: (reason) => {
        this.give(place);
        this.#options.onEnd(sides.kind, reason);
      },
    });
    if (isAccepted) this.#replace(place);
    if (this.#isClosed) endIfLasting(place);
  }

  /** The silent stream gives way to this one. */
  #replace(place: Place): void {
    const { instead } = place;
    delete place.instead;
    if (instead === undefined || !this.#places.has(instead)) return;
    this.give(instead);
    instead.stream?.end('idle');
  }

  /** The silent streams that are set aside. */
  get #setAside(): ReadonlySet<Place> {
    return new Set([...this.#places].flatMap(({ instead }) => instead ?? []));
  }

  /** Ends all streams that do not end by themselves, and each later one. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const place of this.#places) endIfLasting(place);
  }

  /** The stream for which most bytes wait goes first. */
  #onWaiting(change: number): void {
    this.#waitingBytes += change;
    while (this.#waitingBytes > this.#options.mostWaitingBytes) {
      const streams = [...this.#places].flatMap(({ stream }) => stream ?? []);
      const [fullest] = streams.sort((a, b) => b.waitingBytes - a.waitingBytes);
      if (fullest === undefined) return;
      fullest.end('slow');
    }
  }
}

/** The WebSocket whose client has been silent longest, above 60 s, without those that are set aside. */
function longestSilent(places: readonly Place[], setAside: ReadonlySet<Place>): Place | undefined {
  const silent = places.filter(
    (place) => place.stream?.kind === 'websocket' && place.stream.quietLooks > MOST_QUIET_LOOKS && !setAside.has(place),
  );
  return silent.sort((a, b) => (b.stream?.quietLooks ?? 0) - (a.stream?.quietLooks ?? 0))[0];
}

function endIfLasting({ stream }: Place): void {
  if (stream !== undefined && stream.kind !== 'answer') stream.end('shutting-down');
}
