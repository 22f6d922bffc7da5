import { expect } from 'vitest';
import type { PublicServer } from '../../src/http/public-server.ts';
import { SeededRandom } from '../../src/simulator/seeded-random.ts';
import { someReads, someStream } from './byte-streams.ts';
import { type Exchanged, exchangeBytes } from './exchange-bytes.ts';

/** The same server, with the fast lane before Node's and with Node's alone. */
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

/** The stream that stands for a seed. */
export function streamOf(seed: string): Stream {
  const random = new SeededRandom(seed);
  const bytes = someStream(random);
  return { name: seed, reads: someReads(bytes, random), ends: random.chance(0.3) };
}

/**
 * Holds the fast lane against Node's HTTP server alone. That answers fewer of several requests in one read when a later
 * one is malformed, for it does not wait for their answers before it closes. So it is asked twice, with the same reads
 * and request by request: the fast lane answers at least what the former does, and at most what the latter does.
 */
export async function compareLanes({ fast, node }: Lanes, stream: Stream): Promise<void> {
  const { reads, ends } = stream;
  const [lane, same, paced] = await Promise.all([
    exchangeBytes(fast, { reads, ends, isPaced: false }),
    exchangeBytes(node, { reads, ends, isPaced: false }),
    exchangeBytes(node, { reads: requestsIn(reads.join('')), ends, isPaced: true }),
  ]);
  // A client that closes its end leaves what is not answered: which that is depends on when the end is read.
  const leaves = ends && /miss|large/.test(reads.join(''));
  const found = problemOf(lane, leaves ? undefined : same, paced);
  if (found !== undefined)
    expect.fail(`${found}\n${JSON.stringify(stream).slice(0, 2000)}\n${shortened([lane, same, paced])}`);
}

function requestsIn(bytes: string): string[] {
  return bytes.split(/(?<=\r\n\r\n)/);
}

function problemOf(lane: Exchanged, same: Exchanged | undefined, paced: Exchanged): string | undefined {
  if (!isPrefix(lane.answers, paced.answers)) return 'the fast lane answered what Node did not';
  if (same !== undefined && !isPrefix(same.answers, lane.answers)) return 'Node answered what the fast lane did not';
  if (lane.isClosed !== paced.isClosed) return 'one is closed and the other is not';
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
