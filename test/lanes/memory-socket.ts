import { Socket } from 'node:net';

/** A connection without a network: pushed bytes are read by the server, and written bytes are kept. */
export class MemorySocket extends Socket {
  readonly #written: Buffer[] = [];

  constructor() {
    // With the options of the HTTP server's sockets.
    super({ allowHalfOpen: true });
    // A socket without a handle does not count these bytes.
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

  /** The number of written parts. */
  get writes(): number {
    return this.#written.length;
  }

  /** All written bytes, in latin1. */
  get text(): string {
    return Buffer.concat(this.#written).toString('latin1');
  }

  /** True once this end was closed. */
  get isClosed(): boolean {
    return this.destroyed || this.writableEnded;
  }
}
