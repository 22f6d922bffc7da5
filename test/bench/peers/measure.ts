import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { debianProgram } from '../../support/apt.ts';
import { markdownTable, quantilesOf } from '../support/report.ts';
import type { Case } from './cases.ts';
import { cpuMicrosOf } from './cpu-time.ts';
import type { FakeIndexer } from './fake-indexer.ts';
import type { Peer } from './peer.ts';
import { FIRST_MISS_SEQNO, hitTarget, missPattern } from './targets.ts';

/** The CPU time per request of one case on one server: the median of its rounds, in microseconds. */
export interface Measured {
  readonly compared: Case;
  readonly peer: string;
  readonly cpuMicros: number;
}

/** Shared by all cases. */
export interface Bench {
  readonly generatorCore: number;
  readonly indexer: FakeIndexer;
  /** Written anew for each case: the targets of hits, which wrk reads. */
  readonly hitsFile: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** Length of the load before the first round of each case, which is not measured: Node compiles hot code during it. */
const WARM_UP_SECONDS = 2;
/** A process answers this many misses before its misses are measured: the first ones cost 3 to 5 times as much. */
const WARM_UP_MISSES = 20_000;
/** Below toncache's default of 64 concurrent requests at the indexer, so that misses never wait for a slot. */
const CONNECTIONS = 32;
/** Share of requests that may fail, or reach the indexer unexpectedly, before a load is refused as invalid. */
const TOLERATED_SHARE = 0.01;

const SCRIPT = fileURLToPath(new URL('./requests.lua', import.meta.url));

/** The number of the next miss: each miss of a run has its own key. */
let misses = 0;

/** The number of misses of each server. */
const missedBy = new Map<Peer, number>();

/** Runs one case on one server after the other, once a round. Rejects if a load was not as the case requires. */
export async function measureCase(bench: Bench, compared: Case, peers: readonly Peer[]): Promise<Measured[]> {
  const taking = peers.flatMap((peer) => {
    const port = peer.portFor(compared);
    return port === undefined ? [] : [{ peer, origin: `http://127.0.0.1:${port}`, rounds: [] as number[] }];
  });
  const targets = Array.from({ length: compared.urls }, (_, number) => hitTarget(compared, number));
  await writeFile(bench.hitsFile, `${targets.join('\n')}\n`);
  for (const { peer, origin } of taking) {
    for (const target of targets.toReversed()) await ask(origin + target, compared.gzip);
    do {
      const { requests } = await load({ ...bench, seconds: WARM_UP_SECONDS }, compared, peer, origin);
      if (isOfMisses(compared)) missedBy.set(peer, (missedBy.get(peer) ?? 0) + requests);
    } while (isOfMisses(compared) && (missedBy.get(peer) ?? 0) < WARM_UP_MISSES);
  }
  for (let round = 0; round < bench.rounds; round++) {
    for (const { peer, origin, rounds } of taking) rounds.push((await load(bench, compared, peer, origin)).cpuMicros);
  }
  const median = (rounds: readonly number[]) => Number(quantilesOf(rounds, 2)(0.5));
  return taking.map(({ peer, rounds }) => ({ compared, peer: peer.name, cpuMicros: median(rounds) }));
}

/**
 * A row for each server in each case, a column for each size: the CPU time per request, and in brackets its ratio to
 * the first server's.
 */
export function tableOf(measured: readonly Measured[]): string {
  const sizesKb = [...new Set(measured.map(({ compared }) => compared.sizeKb))];
  const rows = [...Map.groupBy(measured, ({ compared }) => compared.title)].flatMap(([title, same]) =>
    [...Map.groupBy(same, ({ peer }) => peer)].map(([peer, own], place) => [
      place === 0 ? title : '',
      peer,
      ...sizesKb.map((sizeKb) => {
        const micros = own.find(({ compared }) => compared.sizeKb === sizeKb)?.cpuMicros ?? Number.NaN;
        const first = same.find(({ compared }) => compared.sizeKb === sizeKb)?.cpuMicros ?? Number.NaN;
        return micros.toFixed(micros < 100 ? 1 : 0) + (place === 0 ? '' : ` (${(micros / first).toFixed(2)})`);
      }),
    ]),
  );
  return markdownTable(['CPU µs a request', 'server', ...sizesKb.map((sizeKb) => `${sizeKb} KB`)], rows);
}

function isOfMisses({ load }: Case): boolean {
  return load === 'misses' || load === 'stored';
}

/** One load, with the number of answered requests and the CPU time of each, in microseconds. */
async function load(
  bench: Bench,
  compared: Case,
  peer: Peer,
  origin: string,
): Promise<{ readonly requests: number; readonly cpuMicros: number }> {
  const { sizeKb, gzip, title } = compared;
  const isMissing = isOfMisses(compared);
  const askedBefore = await bench.indexer.requests();
  const cpuBefore = await cpuMicrosOf(peer.pid);
  const pattern = isMissing ? (compared.load === 'misses' ? peer.missPrefix : '') + missPattern(compared) : '';
  const script = [bench.hitsFile, pattern, misses, FIRST_MISS_SEQNO, gzip ? 'gzip' : ''];
  const { requests, failed } = await runWrk(bench, origin, script);
  const cpuMicros = (await cpuMicrosOf(peer.pid)) - cpuBefore;
  const asked = (await bench.indexer.requests()) - askedBefore;
  misses += requests + CONNECTIONS;
  const tolerated = requests * TOLERATED_SHARE;
  const expected = isMissing ? requests : 0;
  // At the end of this load, and of the one before, each connection can have a request that wrk does not count.
  if (requests === 0 || failed > tolerated || Math.abs(asked - expected) > tolerated + 2 * CONNECTIONS) {
    const what = `${failed} of ${requests} requests failed, and ${asked} instead of ${expected} reached the indexer`;
    throw new Error(`${peer.name}, ${title}, ${sizeKb} KB: ${what}`);
  }
  return { requests, cpuMicros: cpuMicros / requests };
}

/**
 * Runs one load in a closed loop; `script`: the arguments of requests.lua. `failed`: requests without an answer, or
 * with a status of 400 or above.
 */
async function runWrk(bench: Bench, origin: string, script: readonly (string | number)[]) {
  const load = ['-t', '1', '-c', CONNECTIONS, '-d', `${bench.seconds}s`, '--timeout', '10s', '-s', SCRIPT, origin];
  const wrk = await debianProgram('wrk', 'wrk');
  const command = ['-c', bench.generatorCore, wrk, ...load, '--', ...script].map(String);
  const { stdout } = await promisify(execFile)('taskset', command);
  const line = stdout.split('\n').findLast((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  return JSON.parse(line) as { readonly requests: number; readonly failed: number };
}

async function ask(url: string, gzip: boolean): Promise<void> {
  const response = await fetch(url, { headers: { 'Accept-Encoding': gzip ? 'gzip' : 'identity' } });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${url} was answered with status ${response.status}`);
}
