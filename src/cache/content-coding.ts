import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliDecompress,
  brotliDecompressSync,
  constants,
  gunzip,
  gunzipSync,
  gzip,
  zstdCompress,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';
import type { Encoding } from '../content-codings.ts';
import { ownedBytes } from './entry.ts';

/**
 * Bodies up to this length are decoded on the main thread: 150 us at most, less than a round trip to the thread pool.
 */
const QUICK_BYTES = 64 * 1024;

const [asGzip, asBrotli, asZstd] = [promisify(gzip), promisify(brotliCompress), promisify(zstdCompress)];
const [ofGzip, ofBrotli, ofZstd] = [promisify(gunzip), promisify(brotliDecompress), promisify(zstdDecompress)];

/** Each makes answers of 2 to 25 KB 2.0 to 4.8 times smaller; higher levels cost far more CPU time and gain 2 %. */
const ENCODE: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  gzip: (body) => asGzip(body, { level: 6 }),
  br: (body) =>
    asBrotli(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  zstd: (body) => asZstd(body, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
};

const DECODE = { gzip: ofGzip, br: ofBrotli, zstd: ofZstd };
const DECODE_AT_ONCE = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };

/** Encodes a body off the event loop, into memory of its own. */
export async function encodeBody(encoding: Encoding, body: Buffer): Promise<Buffer> {
  return ownedBytes(await ENCODE[encoding](body));
}

/**
 * Decodes a body that had this length before it was encoded: a small one at once, a large one off the event loop.
 * `undefined`, or a promise of it, if the bytes do not decode to that length. Takes no more memory than that length.
 */
export function decodeBody(
  encoding: Encoding,
  body: Buffer,
  length: number,
): Buffer | undefined | Promise<Buffer | undefined> {
  // With one byte of room beyond the length, zlib ends in one pass and still notices a body that is too long.
  const options = { maxOutputLength: Math.max(1, length), chunkSize: Math.max(64, length + 1) };
  const whole = (decoded: Buffer) => (decoded.length === length ? ownedBytes(decoded) : undefined);
  if (length > QUICK_BYTES) return DECODE[encoding](body, options).then(whole, () => undefined);
  try {
    return whole(DECODE_AT_ONCE[encoding](body, options));
  } catch {
    return undefined;
  }
}
