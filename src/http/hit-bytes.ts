import type { Entry } from '../cache/entry.ts';
import { hitStatus } from '../proxy/answer.ts';
import type { MemoryHit, MemoryHits } from '../proxy/handle-request.ts';
import type { Operation } from '../ton/operations.ts';
import { ageOf, entryMessage } from './entry-message.ts';
import { httpDate } from './http-date.ts';
import { keepAliveEnd, messageHead } from './message-head.ts';
import { isOneSlice } from './send-body.ts';

/** Room before a body for the head: ours have 600 bytes. A longer one gets as much as it needs. */
const ROOM_BYTES = 640;

/** A head and a body in one allocation, for one write. */
export interface HitBytes {
  /** What to write now. */
  bytes: Buffer;
  /** Writes of these bytes that have not left the process: while there are any, the head must not be changed. */
  pendingWrites: number;
  /** The whole allocation: room, which ends in the head, then the body. */
  whole: Buffer;
  roomBytes: number;
  ageSeconds: number;
  leftSeconds: number;
  date: string;
}

export interface HitsInBytesOptions {
  readonly hits: MemoryHits;
  readonly keepAliveMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * What is written for fresh entries in memory. One write of one buffer costs a tenth less than a head and a body do. The
 * head stands before the body in the same allocation, right-aligned, and is rendered again when one of its numbers has
 * changed: at most a few times a second, by the renderer that all messages go through.
 */
export class HitsInBytes {
  readonly #options: HitsInBytesOptions;
  readonly #known = new WeakMap<Entry, HitBytes>();
  readonly #headEnd: string;

  constructor(options: HitsInBytesOptions) {
    this.#options = options;
    this.#headEnd = keepAliveEnd(options.keepAliveMs);
  }

  /**
   * What to write now for `operation?query`, asked for without conditions; counted as a hit. `undefined` where it is no hit,
   * or one that cannot go out in one piece.
   */
  find(spelling: string): HitBytes | undefined {
    const { hits, now: readClock } = this.#options;
    const hit = hits.findHit(spelling);
    if (hit === undefined) return undefined;
    const { entry } = hit;
    const now = readClock();
    const known = this.#known.get(entry);
    const isRendered =
      known !== undefined &&
      known.ageSeconds === ageOf(entry, now) &&
      known.leftSeconds === leftOf(entry, now) &&
      known.date === httpDate();
    const bytes = isRendered ? known : this.#render(hit, known, now);
    if (bytes !== undefined) hits.countHit(hit.operation);
    return bytes;
  }

  #render({ entry, operation }: MemoryHit, known: HitBytes | undefined, now: number): HitBytes | undefined {
    const head = this.#headOf(entry, operation, now);
    if (head === undefined || !isOneSlice(entry.body)) return undefined;
    const isFree = known !== undefined && known.pendingWrites === 0 && head.length <= known.roomBytes;
    const fit = isFree ? known : joined(entry, head.length);
    const start = fit.roomBytes - head.length;
    fit.whole.write(head, start, 'latin1');
    fit.bytes = fit.whole.subarray(start);
    fit.ageSeconds = ageOf(entry, now);
    fit.leftSeconds = leftOf(entry, now);
    fit.date = httpDate();
    if (!isFree) this.#known.set(entry, fit);
    return fit;
  }

  #headOf(entry: Entry, { vary }: Operation, now: number): string | undefined {
    const context = { cacheStatus: hitStatus(entry, 'memory', now), vary, requestId: undefined };
    try {
      return messageHead(entryMessage({}, entry, context, now)) + this.#headEnd;
    } catch {
      // It cannot be sent at all, which whoever answers instead finds out and reports.
      return undefined;
    }
  }
}

function leftOf({ freshUntil }: Entry, now: number): number {
  return Math.floor((freshUntil - now) / 1000);
}

/** A new allocation, to which the entry's body moves: it would be in memory twice otherwise. */
function joined(entry: Entry, headBytes: number): HitBytes {
  const roomBytes = Math.max(ROOM_BYTES, headBytes);
  const whole = Buffer.allocUnsafeSlow(roomBytes + entry.body.length);
  entry.body.copy(whole, roomBytes);
  entry.body = whole.subarray(roomBytes);
  return { whole, roomBytes, bytes: whole, pendingWrites: 0, ageSeconds: 0, leftSeconds: 0, date: '' };
}
