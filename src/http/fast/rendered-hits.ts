import type { MemoryHit, MemoryHits } from '../../answer/get.ts';
import { cacheStatusOf } from '../../answer/phase.ts';
import type { Gzip } from '../../cache/gzip.ts';
import type { Ms } from '../../time-units.ts';
import { ageOf, movingHeaders, type ResponseContext, type ResponseHeaders } from '../public/response-headers.ts';
import { fieldLines, httpDate, isOneSlice, keepAliveEnd, statusLine } from '../public/response-message.ts';

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
  /** The place after the fields that change with time, and that of the value of `Date`. */
  readonly lastingAt: number;
  readonly dateAt: number;
  ageSeconds: number;
  remainingSeconds: number;
  date: string;
}

export interface RenderedHitsDependencies {
  readonly hits: MemoryHits;
  readonly gzip: Pick<Gzip, 'move'>;
  readonly keepAliveMs: Ms;
  readonly responseHeaders: ResponseHeaders;
}

/**
 * Renders the bytes of fresh entries in memory. One write of one buffer costs a tenth less than writing head and body.
 * The head is in front of the body in the same allocation. Its fields are rendered once, except those that change with
 * time, a few times a second: `Date`, which has always the same length, and the first ones, which are right-aligned.
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
    const { entry, sent, call, at } = hit;
    if (!isOneSlice(sent.body)) return undefined;
    // While its bytes are being written, the head in front of the body must not change: the body is copied behind a new
    // head. A client that stalls keeps the old copy in memory, and `Age` needs a new one each second, so no large body
    // is copied.
    const isPending = known !== undefined && known.pendingWrites > 0;
    if (isPending && sent.body.length > LARGEST_COPIED_BYTES) return undefined;
    const context = { request: {}, operation: call.operation, cacheStatus: cacheStatusOf(hit), requestId: undefined };
    const beginning = statusLine(entry.meta.status) + fieldLines(movingHeaders(entry, context, at));
    const isFree = known !== undefined && !isPending && beginning.length <= known.lastingAt;
    const fit = isFree ? known : this.#joined(hit, context, beginning.length);
    if (fit === undefined) return undefined;
    const whole = Buffer.from(fit.bytes.buffer);
    const start = fit.lastingAt - beginning.length;
    whole.write(beginning, start, 'latin1');
    fit.date = httpDate();
    whole.write(fit.date, fit.dateAt, 'latin1');
    fit.bytes = whole.subarray(start);
    fit.ageSeconds = ageOf(entry, at);
    fit.remainingSeconds = remainingOf(entry, at);
    return fit;
  }

  /** A new allocation with the lasting fields and the body, and room in front of them. */
  #joined({ entry, sent }: MemoryHit, context: ResponseContext, beginningBytes: number): RenderedHit | undefined {
    let lasting: string;
    try {
      lasting = fieldLines(this.#dependencies.responseHeaders.lasting(entry, sent, context));
    } catch {
      // These fields cannot be sent. The ordinary path is used instead, which fails as well and reports why.
      return undefined;
    }
    const end = `Date: ${httpDate()}\r\n${this.#headEnd}`;
    const roomBytes = Math.max(ROOM_BYTES, beginningBytes + lasting.length + end.length);
    const whole = Buffer.allocUnsafeSlow(roomBytes + sent.body.length);
    const lastingAt = roomBytes - lasting.length - end.length;
    whole.write(lasting + end, lastingAt, 'latin1');
    sent.body.copy(whole, roomBytes);
    // The entry takes over this copy of its body, which would otherwise be in memory twice.
    const body = whole.subarray(roomBytes);
    this.#dependencies.gzip.move(entry, sent.coding, body);
    const dateAt = lastingAt + lasting.length + 'Date: '.length;
    const fit = { bytes: whole, pendingWrites: 0, lastingAt, dateAt, ageSeconds: 0, remainingSeconds: 0, date: '' };
    this.#known.set(body, fit);
    return fit;
  }
}

function remainingOf({ freshUntil }: { readonly freshUntil: number }, now: number): number {
  return Math.floor((freshUntil - now) / 1000);
}
