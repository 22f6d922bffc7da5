import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * So much of a body is handed to its connection at a time; what is smaller goes out as a whole. At 200 KB slices of
 * 64 KiB cost a third more CPU time a hit, those of 128 KiB a sixth (measured).
 */
const SLICE_BYTES = 256 * 1024;

/** Whether a body goes out as a whole. */
export function isOneSlice(body: Buffer): boolean {
  return body.length <= SLICE_BYTES;
}

/**
 * Writes a large body in slices, the next when the one before has left the process, so that it is seen whether the client
 * reads. Calls `onLast` with the last slice instead of writing it. A connection that ends meanwhile ends the writing.
 */
export function writeInSlices(target: Socket | ServerResponse, body: Buffer, onLast: (slice: Buffer) => void): void {
  let sent = 0;
  const sendNext = (error?: Error | null) => {
    if (error) return;
    const slice = body.subarray(sent, sent + SLICE_BYTES);
    sent += slice.length;
    if (sent < body.length) target.write(slice, sendNext);
    else onLast(slice);
  };
  sendNext();
}
