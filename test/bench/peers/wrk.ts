import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findProgram } from '../support/required-programs.ts';
import { FIRST_MISS_SEQNO } from './targets.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./requests.lua', import.meta.url));

/** One load, in a closed loop: each connection sends its next request when the answer has come. */
export interface WrkOrder {
  readonly core: number;
  readonly origin: string;
  readonly connections: number;
  readonly seconds: number;
  /** A file with the targets of the hits, one a line. */
  readonly hitsFile: string;
  /** See `missPattern`, with the `missPrefix` of the server before it; '' for hits. */
  readonly missPattern: string;
  /** The number before that of the first miss. */
  readonly firstMiss: number;
  readonly gzip: boolean;
}

/** The result that wrk reports. */
export interface WrkResult {
  readonly requests: number;
  /** Answers of 400 and above; failed connects, reads and writes, and timeouts. */
  readonly failed: number;
}

/** Runs one load. Rejects when wrk fails. */
export async function runWrk(order: WrkOrder): Promise<WrkResult> {
  const { core, origin, connections, seconds, hitsFile, firstMiss, gzip } = order;
  const wrk = findProgram('wrk');
  const load = ['-t', '1', '-c', connections, '-d', `${seconds}s`, '--timeout', '10s', '-s', SCRIPT, origin];
  const script = [hitsFile, order.missPattern, firstMiss, FIRST_MISS_SEQNO, gzip ? 'gzip' : ''];
  const { stdout } = await run('taskset', ['-c', core, wrk, ...load, '--', ...script].map(String));
  const line = stdout.split('\n').findLast((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  return JSON.parse(line);
}
