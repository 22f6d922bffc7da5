import { writeSync } from 'node:fs';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Writes bytes to a descriptor and returns how many it took; throws like `fs.writeSync`. */
export type WriteBytes = (fd: number, bytes: Buffer) => number;

/** After this time the waiting lines are tried again. */
const RETRY_MS = 100;

// eslint-disable-next-line no-restricted-syntax -- what is measured is a pipe, which has no other clock
const monotonic = (): MonotonicMs => performance.now();

/**
 * The destination of log lines: a file, a pipe or a terminal that may be full, slow or gone. Lines that cannot be
 * written wait, up to `maxWaitingBytes`; further lines, and lines for a reader that is gone, are dropped and counted.
 * Writing never throws, and never blocks if a pipe has been set to non-blocking. (pino's own destination blocks on a
 * full pipe and keeps unlimited data for a full disk.)
 */
export class LogDestination {
  readonly #fd: number;
  readonly #maxWaitingBytes: number;
  readonly #write: WriteBytes;
  /** The beginning of the first line may already be written. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(fd: number, maxWaitingBytes = 1024 * 1024, write: WriteBytes = writeSync) {
    this.#fd = fd;
    this.#maxWaitingBytes = maxWaitingBytes;
    this.#write = write;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The bytes of lines that could not be written yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Writes a line that ends with a line feed: now, later or never. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.byteLength > this.#maxWaitingBytes) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.byteLength;
    if (this.#retry === undefined) this.#writeWaiting();
  }

  /** Call before the process ends: writes the waiting lines, and blocks for up to `limitMs`. */
  flush(limitMs: Ms): void {
    const until = monotonic() + limitMs;
    const napping = new Int32Array(new SharedArrayBuffer(4));
    while (!this.#writeWaiting() && monotonic() < until) Atomics.wait(napping, 0, 0, 10);
  }

  /** Returns true if nothing waits any more. */
  #writeWaiting(): boolean {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    try {
      for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
        const written = this.#write(this.#fd, first);
        this.#waitingBytes -= written;
        if (written < first.byteLength) this.#waiting[0] = first.subarray(written);
        else this.#waiting.shift();
      }
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') {
        this.#dropped += this.#waiting.length;
        this.#waiting = [];
        this.#waitingBytes = 0;
        return true;
      }
      this.#retry = setTimeout(() => this.#writeWaiting(), RETRY_MS).unref();
      return false;
    }
  }
}
