import { writeSync } from 'node:fs';

/** Writes bytes to a descriptor and returns how many it took; throws as `fs.writeSync` does. */
export type WriteBytes = (fd: number, bytes: Buffer) => number;

export interface LogDestinationOptions {
  readonly fd: number;
  /** The most bytes of lines that wait; further lines are dropped. Default 1 MiB. */
  readonly maxWaitingBytes?: number;
  /** How long after a failure the waiting lines are tried again. Default 100 ms. */
  readonly retryMs?: number;
}

/** Errors after which nobody will ever read what is written. */
const CLOSED_FOR_GOOD = new Set(['EPIPE', 'EBADF', 'ECONNRESET']);

/** Errors of a pipe whose reader is slow. */
const FULL_PIPE = new Set(['EAGAIN', 'EWOULDBLOCK']);

/**
 * Where log lines go: a file, a pipe or a terminal that may be full, slow or gone. A line that cannot be written waits,
 * within a bound on memory; beyond it lines are dropped and counted. Writing never throws and never blocks, provided
 * that a pipe has been set to non-blocking. A line is written whole, unless its reader goes away in the middle.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #maxWaitingBytes: number;
  readonly #retryMs: number;
  readonly #write: WriteBytes;
  /** The beginning of the first line may already be written. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;
  #droppedUnreported = 0;

  constructor(
    { fd, maxWaitingBytes = 1024 * 1024, retryMs = 100 }: LogDestinationOptions,
    write: WriteBytes = writeSync,
  ) {
    this.#fd = fd;
    this.#maxWaitingBytes = maxWaitingBytes;
    this.#retryMs = retryMs;
    this.#write = write;
  }

  /** Lines that were dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Writes a line that ends with a line feed, now or later or never. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.byteLength > this.#maxWaitingBytes) {
      this.#drop(1);
      return;
    }
    this.#add(bytes);
    if (this.#retry === undefined) this.#writeAll();
  }

  /**
   * To be called before the process ends: writes all waiting lines, and gives the reader of a full pipe `limitMs` to
   * make room. Blocks meanwhile.
   */
  flush(limitMs: number): void {
    clearTimeout(this.#retry);
    const until = performance.now() + limitMs;
    const napping = new Int32Array(new SharedArrayBuffer(4));
    while (FULL_PIPE.has(this.#writeWaiting() ?? '') && performance.now() < until) Atomics.wait(napping, 0, 0, 10);
  }

  #add(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.byteLength;
  }

  #writeAll(): void {
    this.#retry = undefined;
    let failure = this.#writeWaiting();
    if (failure === undefined && this.#droppedUnreported > 0) {
      const line = { level: 40, time: Date.now(), lines: this.#droppedUnreported, msg: 'log lines were dropped' };
      this.#droppedUnreported = 0;
      this.#add(Buffer.from(`${JSON.stringify(line)}\n`));
      failure = this.#writeWaiting();
    }
    if (failure !== undefined && !CLOSED_FOR_GOOD.has(failure)) {
      this.#retry = setTimeout(() => this.#writeAll(), this.#retryMs).unref();
    }
  }

  /** Returns the code of the error that stopped the writing, if there was one. */
  #writeWaiting(): string | undefined {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        const written = this.#write(this.#fd, first);
        if (written === 0) return 'EAGAIN';
        this.#waitingBytes -= written;
        if (written < first.byteLength) this.#waiting[0] = first.subarray(written);
        else this.#waiting.shift();
      }
      return undefined;
    } catch (error) {
      const code = String((error as NodeJS.ErrnoException).code);
      if (CLOSED_FOR_GOOD.has(code)) {
        this.#drop(this.#waiting.length);
        this.#waiting.length = 0;
        this.#waitingBytes = 0;
      }
      return code;
    }
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#droppedUnreported += lines;
  }
}
