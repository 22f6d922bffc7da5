import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { LONGEST_ERROR_BYTES } from '../../errors.ts';
import { isOwnError } from '../../ton/finality.ts';
import { parseAnswer } from '../../ton/parse-answer.ts';

/** The content codings of RFC 9110 and 8878. A client may ask for any of them. */
const DECODERS: Readonly<Record<string, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
};

/**
 * Reads a body of at most {@link LONGEST_ERROR_BYTES}. Resolves with `undefined` for a longer one, which it destroys, and
 * for one that breaks off. Never rejects.
 */
export async function shortBody(body: Readable): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > LONGEST_ERROR_BYTES) return undefined;
    }
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}

/** True if a body in this content coding is an error of the API, `{"error": "..."}` and nothing else. Never rejects. */
export async function holdsOwnError(body: Buffer, encoding = 'identity'): Promise<boolean> {
  const name = encoding.trim().toLowerCase();
  const decode = DECODERS[name];
  if (decode === undefined) return name === 'identity' && isOwnError(parseAnswer(body));
  try {
    return isOwnError(parseAnswer(await decode(body, { maxOutputLength: LONGEST_ERROR_BYTES })));
  } catch {
    return false;
  }
}
