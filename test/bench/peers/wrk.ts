import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FIRST_MISS_SEQNO } from './targets.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./requests.lua', import.meta.url));

/** One load, in a closed loop: each connection asks again when it has its answer. */
export interface WrkOrder {
  readonly program: string;
  readonly core: number;
  readonly origin: string;
  readonly connections: number;
  readonly seconds: number;
  /** Of the targets of the hits, one a line. */
  readonly hitsFile: string;
  /** See `missPattern`; the misses' prefix is in it. */
  readonly missPattern: string;
  readonly missEvery: number;
  /** No earlier load had misses with numbers above this one. */
  readonly firstMiss: number;
  readonly gzip: boolean;
}

/** What wrk heard. */
export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  /** With heads. */
  readonly bytes: number;
  /** Answers of 400 and above. */
  readonly refused: number;
  /** Connections that could not be made, broke, or brought no answer in time. */
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

/** Reads the line of JSON that the script prints after all that wrk itself prints. Throws where there is none. */
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
