import { hitStatus } from '../proxy/answer.ts';
import type { FoundHit } from '../proxy/handle-request.ts';
import { ageOf, entryMessage } from './entry-message.ts';
import { readSpelling } from './fast-lane-head.ts';
import { httpDate } from './http-date.ts';
import { keepAliveEnd, messageHead } from './message-head.ts';

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
  /** By the body that they hold. */
  readonly #hits = new WeakMap<Buffer, HitBytes>();
  readonly #headEnd: string;
  readonly #now: () => number;

  constructor({ keepAliveMs, now }: HitsInBytesOptions) {
    this.#headEnd = keepAliveEnd(keepAliveMs);
    this.#now = now;
  }

  /** What to write now for a hit that was asked for with this spelling and without conditions. */
  of({ entry, form }: FoundHit, spelling: string): HitBytes {
    const now = this.#now();
    const ageSeconds = ageOf(entry, now);
    const leftSeconds = Math.floor((entry.freshUntil - now) / 1000);
    const date = httpDate();
    const hit = this.#hits.get(form.body);
    if (hit !== undefined && hit.date === date && hit.ageSeconds === ageSeconds && hit.leftSeconds === leftSeconds) {
      return hit;
    }
    const context = { cacheStatus: hitStatus(entry, 'memory', now), vary: varyOf(spelling), requestId: undefined };
    const head = messageHead(entryMessage({}, entry, form, context, now)) + this.#headEnd;
    const isFree = hit !== undefined && hit.pendingWrites === 0 && head.length <= hit.roomBytes;
    const fit = isFree ? hit : joined(form.body, head.length);
    const start = fit.roomBytes - head.length;
    fit.whole.write(head, start, 'latin1');
    fit.bytes = fit.whole.subarray(start);
    fit.ageSeconds = ageSeconds;
    fit.leftSeconds = leftSeconds;
    fit.date = date;
    if (!isFree) {
      // The body moves: it would be in memory twice otherwise.
      const body = fit.whole.subarray(fit.roomBytes);
      entry.forms[form.coding] = body;
      this.#hits.set(body, fit);
    }
    return fit;
  }
}

function varyOf(spelling: string): string {
  return readSpelling(spelling)?.operation.vary ?? '';
}

/** A new allocation, with room for a head before the body. */
function joined(body: Buffer, headBytes: number): HitBytes {
  const roomBytes = Math.max(ROOM_BYTES, headBytes);
  const whole = Buffer.allocUnsafeSlow(roomBytes + body.length);
  body.copy(whole, roomBytes);
  return { whole, roomBytes, bytes: whole, pendingWrites: 0, ageSeconds: 0, leftSeconds: 0, date: '' };
}
