import { Socket } from 'node:net';

/** A connection without a network: what is pushed is read, and what is written is kept. */
export class MemorySocket extends Socket {
  readonly #written: Buffer[] = [];

  constructor() {
    // As the HTTP server makes its sockets.
    super({ allowHalfOpen: true });
    // What a socket without a handle does not count.
    Object.defineProperty(this, 'bytesRead', { get: () => Number(this.readableDidRead) });
    Object.defineProperty(this, 'bytesWritten', { get: () => this.text.length + this.writableLength });
  }

  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.#written.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
    done();
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: () => void): void {
    for (const { chunk, encoding } of chunks) this._write(chunk, encoding, () => {});
    done();
  }

  override _final(done: () => void): void {
    done();
  }

  /** How many parts were written. */
  get writes(): number {
    return this.#written.length;
  }

  /** All that was written, in latin1. */
  get text(): string {
    return Buffer.concat(this.#written).toString('latin1');
  }

  /** Whether this end was closed. */
  get isClosed(): boolean {
    return this.destroyed || this.writableEnded;
  }
}
