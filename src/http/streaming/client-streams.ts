import type { Refusal } from '../../admission/guard.ts';
import { failure } from '../../errors.ts';
import type { Ms } from '../../time-units.ts';
import { ClientStream, MOST_QUIET_LOOKS, type StreamEnd, type StreamSides } from './stream.ts';

export interface ClientStreamsOptions {
  /** The maximum number of streams, in all and of one client. */
  readonly most: number;
  readonly mostPerClient: number;
  /** The maximum number of streams with our API key. */
  readonly mostWithOurKey: number;
  /** The maximum number of bytes that wait for clients in all streams together. */
  readonly mostWaitingBytes: number;
  readonly onEnd: (kind: StreamSides['kind'], reason: StreamEnd) => void;
}

/** The place of a stream, from its request until it has ended. */
export interface Place {
  readonly client: string;
  /** True if it is opened with our API key. */
  withOurKey: boolean;
  /** Set with the head of its answer. */
  stream?: ClientStream;
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

  /** The number of open streams of a kind. */
  count(kind: StreamSides['kind']): number {
    return [...this.#places].filter(({ stream }) => stream?.kind === kind).length;
  }

  /** The number of streams that do not end by themselves. */
  get lasting(): number {
    return this.count('websocket') + this.count('sse');
  }

  /**
   * Takes a place; the caller gives it back, or joins a stream in it. If all places that it could be are taken, the WebSocket
   * in them whose client has been silent longest gives way, if that is more than 60 s: its client may have disappeared.
   * Without such a one, returns the refusal, or throws a `ProxyError` if the client has its maximum.
   */
  take(place: Place): Refusal | undefined {
    const { client, withOurKey } = place;
    const { most, mostPerClient, mostWithOurKey } = this.#options;
    const leaving = new Set<Place>();
    const hasRoom = (limit: number, counts: (each: Place) => boolean): boolean => {
      const taken = [...this.#places].filter((each) => counts(each) && !leaving.has(each));
      if (taken.length < limit) return true;
      const [silent] = taken.sort((a, b) => silenceOf(b) - silenceOf(a));
      if (silent === undefined || silenceOf(silent) <= MOST_QUIET_LOOKS) return false;
      leaving.add(silent);
      return true;
    };
    if (!hasRoom(mostPerClient, (each) => each.client === client)) {
      // By then a WebSocket whose client has disappeared gives way.
      const waitMs = MOST_QUIET_LOOKS * LOOK_EVERY_MS;
      throw failure('too-many-requests', { text: 'streams', values: { most: mostPerClient }, waitMs });
    }
    if (withOurKey && !hasRoom(mostWithOurKey, (each) => each.withOurKey)) return NO_PLACE;
    if (!hasRoom(most, () => true)) return NO_PLACE;
    for (const each of leaving) {
      this.give(each);
      each.stream?.end('idle');
    }
    this.#places.add(place);
    return undefined;
  }

  /** Gives a place back, if it was taken. */
  give(place: Place): void {
    this.#places.delete(place);
  }

  /** Passes bytes between the two sides until one of them ends, and gives the place back then. */
  join(place: Place, sides: StreamSides): void {
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
    if (this.#isClosed) endIfLasting(place);
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

/** The looks for which the client of a WebSocket has been silent; 0 for all other streams. */
function silenceOf({ stream }: Place): number {
  return stream?.kind === 'websocket' ? stream.quietLooks : 0;
}

function endIfLasting({ stream }: Place): void {
  if (stream !== undefined && stream.kind !== 'answer') stream.end('shutting-down');
}
