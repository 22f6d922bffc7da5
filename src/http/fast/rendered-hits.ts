import type { MemoryHit, MemoryHits } from '../../answer/handle-request.ts';
import { cacheStatusOf } from '../../answer/phase.ts';
import type { Gzip } from '../../cache/gzip.ts';
import type { Ms } from '../../time-units.ts';
import { ageOf, entryMessage } from '../public/entry-message.ts';
import type { Origins } from '../public/origins.ts';
import { httpDate, isOneSlice, keepAliveEnd, messageHead } from '../public/response-message.ts';

/** Room for the head in front of the body: heads have about 600 bytes. A longer one gets the room that it needs. */
const ROOM_BYTES = 640;

/** A larger body is not copied for a client that stalls: it would be in memory in addition to the cached one. */
const LARGEST_COPIED_BYTES = 32 * 1024;

/** A head and a body in one allocation, for one write. */
export interface RenderedHit {
  /** The bytes to write now: the end of the allocation, which consists of room for the head, then the body. */
  bytes: Buffer;
  /** The number of unfinished writes of these bytes: while there are any, the head must not change. */
  pendingWrites: number;
  readonly roomBytes: number;
  ageSeconds: number;
  remainingSeconds: number;
  date: string;
}

export interface RenderedHitsDependencies {
  readonly hits: MemoryHits;
  readonly gzip: Pick<Gzip, 'move'>;
  readonly keepAliveMs: Ms;
  readonly origins: Origins;
}

/**
 * Renders the bytes of fresh entries in memory. One write of one buffer costs a tenth less than writing head and body.
 * The head is in front of the body in the same allocation, right-aligned. It is rendered again when one of its numbers
 * has changed: at most a few times a second, by the same renderer as all messages.
 */
export class RenderedHits {
  readonly #dependencies: RenderedHitsDependencies;
  /** By the body that they contain. */
  readonly #known = new WeakMap<Buffer, RenderedHit>();
  readonly #headEnd: string;

  constructor(dependencies: RenderedHitsDependencies) {
    this.#dependencies = dependencies;
    this.#headEnd = keepAliveEnd(dependencies.keepAliveMs);
  }

  /**
   * The bytes to write now for an unconditional GET of `operation?query`, which is counted as a hit. `undefined` for a
   * miss, and for a hit that cannot be written in one piece.
   */
  find(spelling: string, acceptsGzip: boolean): RenderedHit | undefined {
    const { hits } = this.#dependencies;
    const hit = hits.findHit(spelling, acceptsGzip);
    if (hit === undefined) return undefined;
    const { entry, sent, at } = hit;
    const known = this.#known.get(sent.body);
    const isRendered =
      known !== undefined &&
      known.ageSeconds === ageOf(entry, at) &&
      known.remainingSeconds === remainingOf(entry, at) &&
      known.date === httpDate();
    const bytes = isRendered ? known : this.#render(hit, known);
    if (bytes !== undefined) hits.countHit(hit);
    return bytes;
  }

  #render(hit: MemoryHit, known: RenderedHit | undefined): RenderedHit | undefined {
    const { entry, sent, at } = hit;
    if (!isOneSlice(sent.body)) return undefined;
    // While its bytes are being written, the head in front of the body must not change: the body is copied behind a new
    // head. A client that stalls keeps the old copy in memory, and `Age` needs a new one each second, so no large body
    // is copied.
    const isPending = known !== undefined && known.pendingWrites > 0;
    if (isPending && sent.body.length > LARGEST_COPIED_BYTES) return undefined;
    const head = this.#headOf(hit);
    if (head === undefined) return undefined;
    const isFree = known !== undefined && !isPending && head.length <= known.roomBytes;
    const fit = isFree ? known : joined(sent.body, head.length);
    const whole = Buffer.from(fit.bytes.buffer);
    const start = fit.roomBytes - head.length;
    whole.write(head, start, 'latin1');
    fit.bytes = whole.subarray(start);
    fit.ageSeconds = ageOf(entry, at);
    fit.remainingSeconds = remainingOf(entry, at);
    fit.date = httpDate();
    if (!isFree) {
      // The entry takes over this copy of its body, which would otherwise be in memory twice.
      const body = whole.subarray(fit.roomBytes);
      this.#dependencies.gzip.move(entry, sent.coding, body);
      this.#known.set(body, fit);
    }
    return fit;
  }

  #headOf(hit: MemoryHit): string | undefined {
    const { entry, sent, call, at } = hit;
    const { vary } = call.operation;
    const context = { cacheStatus: cacheStatusOf(hit), vary, requestId: undefined, isPrivate: false };
    try {
      const message = entryMessage({}, entry, sent, context, at);
      const headers = this.#dependencies.origins.headersFor(undefined, message.headers);
      return messageHead({ ...message, headers }) + this.#headEnd;
    } catch {
      // This head cannot be sent. The ordinary path is used instead, which fails as well and reports why.
      return undefined;
    }
  }
}

function remainingOf({ freshUntil }: { readonly freshUntil: number }, now: number): number {
  return Math.floor((freshUntil - now) / 1000);
}

/** A new allocation, with room for a head in front of the body. */
function joined(body: Buffer, headBytes: number): RenderedHit {
  const roomBytes = Math.max(ROOM_BYTES, headBytes);
  const whole = Buffer.allocUnsafeSlow(roomBytes + body.length);
  body.copy(whole, roomBytes);
  return { bytes: whole, pendingWrites: 0, roomBytes, ageSeconds: 0, remainingSeconds: 0, date: '' };
}
