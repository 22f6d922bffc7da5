/** The most memory that is allocated for a `Content-Length` before the bytes have come. */
const MOST_TRUSTED_BYTES = 256 * 1024;

/**
 * Collects a body as it comes. If a length up to 256 KiB was announced, each byte is copied once, into memory of the
 * body's own; any other body is kept in chunks until it is complete.
 */
export class BodyBuffer {
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** `announced`: the `Content-Length`, as it came. Fewer or more bytes may come. */
  constructor(announced: string | undefined) {
    const bytes = announced === undefined ? 0 : Number(announced);
    if (bytes > 0 && bytes <= MOST_TRUSTED_BYTES) this.#whole = Buffer.allocUnsafeSlow(bytes);
  }

  add(chunk: Buffer): void {
    if (this.#whole === undefined) {
      this.#chunks.push(chunk);
    } else if (this.#bytes + chunk.length <= this.#whole.length) {
      this.#whole.set(chunk, this.#bytes);
    } else {
      this.#chunks = [this.#whole.subarray(0, this.#bytes), chunk];
      this.#whole = undefined;
    }
    this.#bytes += chunk.length;
  }

  /** The bytes that have come. To be called once. */
  take(): Buffer {
    if (this.#whole?.length === this.#bytes) return this.#whole;
    return this.#whole?.subarray(0, this.#bytes) ?? Buffer.concat(this.#chunks, this.#bytes);
  }
}
