import type { Socket } from 'node:net';
import type { Ms } from '../../time-units.ts';

/** `bytesWritten` counts all bytes written so far, `writableLength` those of them that have not left the process. */
export type WrittenSocket = Pick<Socket, 'bytesWritten' | 'writableLength'> & { resetAndDestroy(): unknown };

/** The least that a client must take of its answers within the time, in bytes. */
const LEAST_BYTES = 16 * 1024;
const LOOKS = 4;

/** The state of a connection when its client was last seen to read. */
interface Mark {
  /** Bytes that had left the process since the connection began, and bytes that were still to leave. */
  readonly leftBytes: number;
  readonly pendingBytes: number;
  looks: number;
}

/**
 * Cuts connections whose clients take less than 16 KiB of their answers in the given time: a client that takes a byte a
 * second would hold an answer for days without ever running into Node's own timeout. Bytes are seen to leave in whole
 * writes only, so a write larger than 16 KiB has proportionally more time.
 */
export class SlowReaders {
  readonly #sockets: Iterable<WrittenSocket>;
  readonly #timer: NodeJS.Timeout;
  readonly #marks = new WeakMap<WrittenSocket, Mark>();

  /** `sockets`: those that are open, read anew each time. */
  constructor(sockets: Iterable<WrittenSocket>, slowReaderMs: Ms) {
    this.#sockets = sockets;
    this.#timer = setInterval(() => this.#look(), slowReaderMs / LOOKS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const socket of this.#sockets) if (this.#isSlow(socket)) socket.resetAndDestroy();
  }

  #isSlow(socket: WrittenSocket): boolean {
    const pendingBytes = socket.writableLength;
    if (pendingBytes === 0) {
      this.#marks.delete(socket);
      return false;
    }
    const leftBytes = socket.bytesWritten - pendingBytes;
    const mark = this.#marks.get(socket);
    if (mark === undefined || leftBytes - mark.leftBytes >= Math.min(LEAST_BYTES, mark.pendingBytes)) {
      this.#marks.set(socket, { leftBytes, pendingBytes, looks: 0 });
      return false;
    }
    mark.looks++;
    return mark.looks >= LOOKS * Math.max(1, mark.pendingBytes / LEAST_BYTES);
  }
}
