import type { Socket } from 'node:net';
import { SLICE_BYTES } from './response-message.ts';

/** `bytesWritten` counts all bytes written so far, `writableLength` those of them whose write has not left as a whole. */
export type WrittenSocket = Pick<Socket, 'bytesWritten' | 'writableLength'>;

/** The least that a client must take of its answers within the time, in bytes. */
const LEAST_BYTES = 16 * 1024;

/** The state of a connection when its client was last seen to have taken enough. */
interface Mark {
  /** Bytes that had left the process since the connection began, and bytes that were still to leave. */
  readonly sentBytes: number;
  readonly pendingBytes: number;
  /** The client has the time for so many bytes to take some more. */
  readonly allowedBytes: number;
  looks: number;
}

/**
 * How the client of a connection takes its answers, as seen at looks in equal distances. Bytes are seen to leave in whole
 * writes, and the system takes many at once, so that a client that reads steadily seems to take nothing for a while. It has
 * as much time as for the write that is pending, or for what left at once before, up to a slice of a large body.
 */
export class AnswerProgress {
  /** Looks in a row at which no write had left since the look before. */
  quietLooks = 0;
  readonly #socket: WrittenSocket;
  /** None yet, so that the first look sees a change: the connection may have been opened just before it. */
  #sentBytes = -1;
  /** Absent while nothing is pending. */
  #mark: Mark | undefined;

  constructor(socket: WrittenSocket) {
    this.#socket = socket;
  }

  /** Compares the connection with what it was at the last look. */
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

  /** Whether the client takes less than 16 KiB of its answers in so many looks. */
  isTooSlow(looks: number): boolean {
    const mark = this.#mark;
    return mark !== undefined && mark.looks >= (looks * mark.allowedBytes) / LEAST_BYTES;
  }
}
