import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FIRST_MISS_SEQNO } from './targets.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./requests.lua', import.meta.url));

/** One load, in a closed loop: each connection sends its next request when the answer has come. */
export interface WrkOrder {
  readonly program: string;
  readonly core: number;
  readonly origin: string;
  readonly connections: number;
  readonly seconds: number;
  /** A file with the targets of the hits, one a line. */
  readonly hitsFile: string;
  /** See `missPattern`, with the `missPrefix` of the server before it. */
  readonly missPattern: string;
  readonly missEvery: number;
  /** The number before that of the first miss. */
  readonly firstMiss: number;
  readonly gzip: boolean;
}

/** The result that wrk reports. */
export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  /** Heads included. */
  readonly bytes: number;
  /** Answers of 400 and above. */
  readonly refused: number;
  /** Failed connects, reads and writes, and timeouts. */
  readonly broken: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs one load. Rejects when wrk fails. */
export async function runWrk(order: WrkOrder): Promise<WrkResult> {
  const { program, core, origin, connections, seconds, hitsFile, missEvery, firstMiss, gzip } = order;
  const load = ['-t', '1', '-c', connections, '-d', `${seconds}s`, '--timeout', '10s', '-s', SCRIPT, origin];
  const script = [hitsFile, order.missPattern, missEvery, firstMiss, FIRST_MISS_SEQNO, gzip ? 'gzip' : ''];
  const args = ['-c', core, program, ...load, '--', ...script].map(String);
  return parseWrk((await run('taskset', args)).stdout);
}

const NUMBERS = ['requests', 'seconds', 'bytes', 'refused', 'broken', 'p50Ms', 'p99Ms'] as const;

/** Reads the line of JSON that `requests.lua` prints last. Throws when there is none. */
export function parseWrk(output: string): WrkResult {
  const line = output.split('\n').findLast((text) => text.startsWith('{'));
  const result: unknown = line === undefined ? undefined : JSON.parse(line);
  if (!isResult(result)) throw new Error(`wrk printed no result:\n${output}`);
  return result;
}

function isResult(value: unknown): value is WrkResult {
  return (
    typeof value === 'object' && value !== null && NUMBERS.every((name) => Number.isFinite(Reflect.get(value, name)))
  );
}
