import { expect } from 'vitest';
import { readFields, readHead, readSpelling } from '../../src/http/fast/request-head.ts';
import type { PublicServer } from '../../src/http/public/public-server.ts';
import { OperationsInUse } from '../../src/ton/operations.ts';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { someReads, someStream } from './byte-streams.ts';
import { MAX_HEAD_BYTES } from './echo-server.ts';
import { type Exchanged, exchangeBytes } from './exchange-bytes.ts';

/** The same server twice: with the fast lane in front of Node's HTTP server, and with Node's HTTP server only. */
export interface Lanes {
  readonly fast: PublicServer;
  readonly node: PublicServer;
}

/** A stream of bytes, in reads as they come. */
export interface Stream {
  readonly name: string;
  readonly reads: readonly string[];
  readonly ends: boolean;
}

export function streamOf(seed: string): Stream {
  const random = new SeededRandom(seed);
  const bytes = someStream(random);
  return { name: seed, reads: someReads(bytes, random), ends: random.chance(0.3) };
}

/**
 * Compares the fast lane with Node's HTTP server. Node gets one request at a time: it closes without waiting for its
 * earlier answers when a later request of the same read is malformed, so it would answer fewer.
 */
export async function compareLanes({ fast, node }: Lanes, { reads, ends, name }: Stream): Promise<void> {
  const bytes = reads.join('');
  const [lane, paced] = await Promise.all([
    exchangeBytes(fast, { reads, ends, isPaced: false }),
    exchangeBytes(node, { reads: requestsIn(bytes), ends, isPaced: true }),
  ]);
  // A client that closes its end gives up unfinished answers. Which ones depends on when the end is read.
  const leaves = ends && /miss|large/.test(bytes);
  const least = leaves || isInPieces(reads) ? 0 : plainRequestsIn(bytes);
  const found = problemOf(lane, paced, least, endsInPartOfHead(bytes));
  if (found !== undefined)
    expect.fail(`${found}\n${name} ${JSON.stringify(reads).slice(0, 2000)}\n${shortened([lane, paced])}`);
}

/** The requests of the stream, and bytes that only look like requests. */
export function requestsIn(bytes: string): string[] {
  return bytes.split(/(?<=\r\n\r\n)/);
}

/** True if a head may come in so many pieces that the fast lane leaves it to Node. */
export function isInPieces(reads: readonly string[]): boolean {
  return reads.length > 2;
}

/** True if a stream ends in what may be the beginning of a head. */
function endsInPartOfHead(bytes: string): boolean {
  const last = requestsIn(bytes).at(-1) ?? '';
  return last.startsWith('GET /api/v3/') && !last.endsWith('\r\n\r\n');
}

/** The number of requests at the beginning of a stream that the fast lane takes. */
export function plainRequestsIn(bytes: string): number {
  let count = 0;
  for (let start = 0; ; count++) {
    const head = readHead(bytes, start, MAX_HEAD_BYTES);
    if (typeof head === 'string' || readFields(head.fields) === undefined) return count;
    if (readSpelling(head.spelling, new OperationsInUse()) === undefined) return count;
    start = head.end;
  }
}

/**
 * `least`: the smallest number of answers that is correct. `isPart`: the stream ends in part of a head. Node refuses a
 * malformed head at once, the fast lane when it checks next.
 */
export function problemOf(lane: Exchanged, paced: Exchanged, least: number, isPart: boolean): string | undefined {
  if (!isPrefix(lane.answers, paced.answers)) return 'the fast lane answered what Node did not';
  if (lane.answers.length < least) return 'a plain request was not answered';
  if (lane.isClosed !== paced.isClosed && !(isPart && paced.isClosed)) return 'one is closed and the other is not';
  if (!lane.isClosed && lane.answers.length < paced.answers.length) return 'an answer is missing';
  return undefined;
}

function isPrefix(few: readonly string[], many: readonly string[]): boolean {
  return few.length <= many.length && few.every((answer, i) => answer === many[i]);
}

function shortened(exchanged: unknown): string {
  return JSON.stringify(
    exchanged,
    (_, value) => (typeof value === 'string' ? value.replace(/\r\n[\s\S]*\r\n\r\n/, ' ... ').slice(0, 300) : value),
    1,
  );
}
