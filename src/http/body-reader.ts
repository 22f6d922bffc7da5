import type { IncomingMessage } from 'node:http';
import { ProxyError } from '../errors.ts';

export interface BodyReaderOptions {
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
  /** The most bytes of all bodies being read at once; a body without `Content-Length` counts as `maxBodyBytes`. */
  readonly maxReadingBytes: number;
}

/**
 * Reads the bodies of requests. Memory for a body is set aside before it is read, so clients that begin many bodies and
 * never end them take a bounded amount of it. The server's own timeout for a whole request (`http.headerTimeout`) is the
 * deadline of a body.
 */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  #readingBytes = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** Throws a {@link ProxyError}: `body-too-large`, `overloaded` or `client-left`. */
  async read(request: IncomingMessage): Promise<Buffer> {
    const { maxBodyBytes, maxReadingBytes } = this.#options;
    const declared = request.headers['content-length'];
    const bytes = declared === undefined ? maxBodyBytes : Number(declared);
    if (bytes > maxBodyBytes) throw this.#tooLarge();
    if (this.#readingBytes + bytes > maxReadingBytes) {
      throw new ProxyError('overloaded', 'the proxy is overloaded: too many request bodies are being sent', {
        retryAfterSeconds: 1,
      });
    }
    this.#readingBytes += bytes;
    try {
      return await this.#readAll(request);
    } finally {
      this.#readingBytes -= bytes;
    }
  }

  async #readAll(request: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      // Leaving the loop must not end the connection: the refusal is still to be sent on it.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > this.#options.maxBodyBytes) throw this.#tooLarge();
        chunks.push(chunk);
      }
    } catch (cause) {
      throw cause instanceof ProxyError ? cause : new ProxyError('client-left', 'the body broke off', { cause });
    }
    return Buffer.concat(chunks, bytes);
  }

  #tooLarge(): ProxyError {
    const { maxBodyBytes } = this.#options;
    return new ProxyError('body-too-large', `the body is too large; accepted: at most ${maxBodyBytes} bytes`);
  }
}
