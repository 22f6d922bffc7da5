import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { ownedBytes } from '../cache/entry.ts';
import { failure, type ProxyError } from '../errors.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

export interface BodyReaderOptions {
  /** The size of the largest accepted body. */
  readonly maxBodyBytes: number;
  /** The maximum number of received bytes of all unfinished bodies. */
  readonly maxReadingBytes: number;
  readonly now: () => MonotonicMs;
}

/** Room for 64 bodies of the default `passThrough.maxBodySize`. */
export const MAX_READING_BYTES = 64 * 1024 * 1024;

/** When there is no room for others, a body that has received nothing for this long gives way. */
const IDLE_MS: Ms = 2000;

/** The `Retry-After` of a request whose body has no room. */
const ROOM_AGAIN_MS: Ms = 1000;

/** A piece of a body counts as at least this many bytes: its object takes memory too. */
const LEAST_PIECE_BYTES = 256;

interface Reading {
  /** The received bytes, as counted for the limit. */
  countedBytes: number;
  /** The time of the last piece. */
  at: MonotonicMs;
  /** Ends it; its client gets the error. */
  readonly fail: (error: ProxyError) => void;
}

/**
 * Reads the bodies of requests. Clients that begin many bodies and never end them take a bounded amount of memory:
 * received bytes count, not announced ones. The server's own timeout for a whole request (`http.requestTimeout`) is the
 * deadline of a body.
 */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  /** The body that has been idle for the longest time comes first. */
  readonly #reading = new Set<Reading>();
  #countedBytes = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** Rejects with a {@link ProxyError}: `body-too-large`, `overloaded` or `client-closed-request`. */
  async read(request: IncomingMessage): Promise<Buffer> {
    if (Number(request.headers['content-length'] ?? 0) > this.#options.maxBodyBytes) throw this.#tooLarge();
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const end = () => {
        request.off('data', onPiece);
        pieces.length = 0;
        this.#remove(reading);
      };
      const fail = (error: ProxyError) => {
        end();
        reject(error);
      };
      const reading: Reading = { countedBytes: 0, at: this.#options.now(), fail };
      const onPiece = (piece: Buffer) => {
        bytes += piece.length;
        const refusal = bytes > this.#options.maxBodyBytes ? this.#tooLarge() : this.#count(reading, piece);
        if (refusal === undefined) pieces.push(ownedBytes(piece));
        else fail(refusal);
      };
      this.#reading.add(reading);
      // The rest of a failed body is discarded: the refusal must still be sent on its connection.
      request.on('data', onPiece);
      finished(request, { writable: false }, (cause) => {
        const body = Buffer.concat(pieces);
        end();
        if (cause) reject(failure('client-closed-request', { text: 'body', cause }));
        else resolve(body);
      });
    });
  }

  /**
   * Counts a piece of a body, or returns why there is no room for it. Idle bodies give way, the longest idle one first.
   */
  #count(reading: Reading, piece: Buffer): ProxyError | undefined {
    const { maxReadingBytes, now } = this.#options;
    const bytes = Math.max(piece.length, LEAST_PIECE_BYTES);
    reading.at = now();
    this.#reading.delete(reading);
    this.#reading.add(reading);
    for (const idle of this.#reading) {
      if (this.#countedBytes + bytes <= maxReadingBytes || reading.at - idle.at < IDLE_MS) break;
      idle.fail(noRoom());
    }
    if (this.#countedBytes + bytes > maxReadingBytes) return noRoom();
    reading.countedBytes += bytes;
    this.#countedBytes += bytes;
    return undefined;
  }

  #remove(reading: Reading): void {
    if (this.#reading.delete(reading)) this.#countedBytes -= reading.countedBytes;
  }

  #tooLarge(): ProxyError {
    return failure('body-too-large', { values: { bytes: this.#options.maxBodyBytes } });
  }
}

function noRoom(): ProxyError {
  return failure('overloaded', { text: 'bodies', waitMs: ROOM_AGAIN_MS });
}
