/** The most memory that is taken on the word of a `Content-Length`, before the bytes have come. */
const MOST_TRUSTED_BYTES = 256 * 1024;

/**
 * Takes a body as it comes. Where a length up to 256 KiB was announced, each byte is copied once, into memory that holds
 * nothing else; any other body is kept in its chunks until it is whole.
 */
export class BodyBuffer {
  #whole: Buffer | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** `announced`: the `Content-Length`, as it came. It binds nobody: fewer bytes may come, or more. */
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

  /** All that has come. To be called once. */
  take(): Buffer {
    if (this.#whole?.length === this.#bytes) return this.#whole;
    return this.#whole?.subarray(0, this.#bytes) ?? Buffer.concat(this.#chunks, this.#bytes);
  }
}
