import type { Socket } from 'node:net';
import { SLICE_BYTES } from './response-message.ts';

/** `bytesWritten` counts all bytes written so far, `writableLength` those in writes that have not left completely. */
export type WrittenSocket = Pick<Socket, 'bytesWritten' | 'writableLength'>;

/** A client must take at least this many bytes of its answers within the time. */
export const LEAST_BYTES = 16 * 1024;

/** The state of a connection when its client had last taken enough. */
interface Mark {
  /** Bytes that had left the process since the beginning of the connection, and bytes that were still to leave. */
  readonly sentBytes: number;
  readonly pendingBytes: number;
  /** The client has the time for this many bytes, at 16 KiB per `http.sendTimeout`, before it must take some more. */
  readonly allowedBytes: number;
  looks: number;
}

/**
 * How the client of a connection takes its answers, observed at equal intervals. Bytes leave in whole writes, and the
 * system takes many at once, so a client that reads steadily seems to take nothing for a while. It gets the time for
 * the pending bytes, or for the bytes that left at once before if these are more. Of the latter, at most a slice of a
 * large body counts.
 */
export class AnswerProgress {
  /** The number of looks in a row that found no bytes sent since the previous look. */
  quietLooks = 0;
  readonly #socket: WrittenSocket;
  /** -1, so that the first look sees a change: the connection may have been opened just before it. */
  #sentBytes = -1;
  /** Absent while nothing is pending. */
  #mark: Mark | undefined;

  constructor(socket: WrittenSocket) {
    this.#socket = socket;
  }

  /** Compares the connection with its state at the last look. */
  look(): void {
    const { bytesWritten, writableLength: pendingBytes } = this.#socket;
    const sentBytes = bytesWritten - pendingBytes;
    const mark = this.#mark;
    const takenBytes = sentBytes - (mark?.sentBytes ?? this.#sentBytes);
    this.quietLooks = sentBytes === this.#sentBytes ? this.quietLooks + 1 : 0;
    this.#sentBytes = sentBytes;
    if (pendingBytes === 0) this.#mark = undefined;
    else if (mark === undefined || takenBytes >= Math.min(LEAST_BYTES, mark.pendingBytes)) {
      const allowedBytes = Math.max(LEAST_BYTES, pendingBytes, Math.min(takenBytes, SLICE_BYTES));
      this.#mark = { sentBytes, pendingBytes, allowedBytes, looks: 0 };
    } else mark.looks++;
  }

  /** The number of looks for which bytes have been pending since the client last took 16 KiB of them, or all. */
  get stuckLooks(): number {
    return this.#mark?.looks ?? 0;
  }

  /** True if the client has not taken enough in its time: this number of looks for each 16 KiB that it is allowed. */
  isTooSlow(looks: number): boolean {
    const mark = this.#mark;
    return mark !== undefined && mark.looks >= (looks * mark.allowedBytes) / LEAST_BYTES;
  }
}
