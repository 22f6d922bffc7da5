import { Readable } from 'node:stream';
import type { ForwardedAnswer } from '../../indexer/upstream-client.ts';
import { type ChainHead, headIn } from '../../ton/chain-point.ts';

/** A longer answer is passed on unread. */
const LONGEST_BYTES = 64 * 1024;

const ASKS_FOR_HEAD = /^\/api\/v3\/masterchaininfo\/*(\?|$)/i;

/**
 * The body of a passed-through answer, byte for byte. If it names the newest block, this block is learned before the
 * client has the last bytes: a client that reads there that a block is committed gets no older 404 for it.
 */
export function learningHead(
  target: string,
  { status, headers, body }: ForwardedAnswer,
  learn: (head: ChainHead) => void,
): Readable {
  const isHead = status === 200 && ASKS_FOR_HEAD.test(target) && headers['content-encoding'] === undefined;
  return isHead ? Readable.from(learningFrom(body, learn)) : body;
}

async function* learningFrom(body: AsyncIterable<Buffer>, learn: (head: ChainHead) => void): AsyncGenerator<Buffer> {
  const read: Buffer[] = [];
  let bytes = 0;
  let last: Buffer | undefined;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes <= LONGEST_BYTES) read.push(chunk);
    if (last !== undefined) yield last;
    last = chunk;
  }
  if (bytes <= LONGEST_BYTES) learn(headIn(Buffer.concat(read)));
  if (last !== undefined) yield last;
}
