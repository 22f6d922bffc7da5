import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Case, MIXED_MISS_EVERY, missEvery, titleOf } from './cases.ts';
import type { Peer, Place } from './peer.ts';
import { cpuMicrosOf } from './process-cpu.ts';
import { hitTarget, missPattern } from './targets.ts';
import { runWrk } from './wrk.ts';

/** One load on one server. */
export interface Sample {
  readonly cpuMicrosPerRequest: number;
  readonly requestsPerSecond: number;
  /** With heads. */
  readonly bytesPerRequest: number;
  readonly p99Ms: number;
}

/** All loads of one case on one server. */
export interface Measured {
  readonly compared: Case;
  readonly peer: string;
  readonly samples: readonly Sample[];
}

/** Where and with what to measure. */
export interface Bench {
  readonly wrk: string;
  readonly generatorCore: number;
  readonly indexerUrl: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** Of a load that is thrown away: processes that were just started compile what they run. */
const WARM_UP_SECONDS = 2;
/** Few enough for the slots of toncache's admission, which are for 64 requests at the indexer. */
const CONNECTIONS = 32;
/** Of all requests: more of them failed, or went where they should not, and the figures mean something else. */
const TOLERATED_SHARE = 0.01;

/** No two misses of a run are for the same key. */
let misses = 0;

/** Runs one case on all servers that take part in it, by turns. Rejects when a load was not what the case says. */
export async function measureCase(bench: Bench, compared: Case, peers: readonly Peer[]): Promise<Measured[]> {
  const taking = peers.flatMap((peer) => {
    const place = peer.placeOf(compared);
    return place === undefined ? [] : [{ peer, place, samples: [] as Sample[] }];
  });
  const targets = Array.from({ length: compared.urls }, (_, number) => hitTarget(compared.sizeKb, number));
  const hitsFile = join(bench.folder, 'hits.txt');
  await writeFile(hitsFile, `${targets.join('\n')}\n`);
  for (const { peer, place } of taking) {
    for (const target of targets.toReversed()) await ask(place.origin + target, compared.gzip);
    await load({ ...bench, seconds: WARM_UP_SECONDS }, compared, peer, place, hitsFile);
  }
  for (let round = 0; round < bench.rounds; round++) {
    for (const { peer, place, samples } of taking) {
      samples.push(await load(bench, compared, peer, place, hitsFile));
    }
  }
  return taking.map(({ peer, samples }) => ({ compared, peer: peer.name, samples }));
}

async function load(bench: Bench, compared: Case, peer: Peer, place: Place, hitsFile: string): Promise<Sample> {
  await peer.prepare?.();
  const askedBefore = await indexerRequests(bench);
  const cpuBefore = await cpuMicrosOf(peer.pid);
  const heard = await runWrk({
    program: bench.wrk,
    core: bench.generatorCore,
    origin: place.origin,
    connections: CONNECTIONS,
    seconds: bench.seconds,
    hitsFile,
    missPattern: place.missPrefix + missPattern(compared.sizeKb),
    missEvery: missEvery(compared.kind),
    firstMiss: misses,
    gzip: compared.gzip,
  });
  const cpuMicros = (await cpuMicrosOf(peer.pid)) - cpuBefore;
  const asked = (await indexerRequests(bench)) - askedBefore;
  misses += heard.requests + CONNECTIONS;
  const wrong = problemOf(compared, { ...heard, asked });
  if (wrong !== undefined) throw new Error(`${peer.name}, ${titleOf(compared)}, ${compared.sizeKb} KB: ${wrong}`);
  return {
    cpuMicrosPerRequest: cpuMicros / heard.requests,
    requestsPerSecond: heard.requests / heard.seconds,
    bytesPerRequest: heard.bytes / heard.requests,
    p99Ms: heard.p99Ms,
  };
}

/** Why a load was not that of the case; undefined where it was. `asked`: requests that reached the indexer. */
export function problemOf(
  { kind }: Case,
  { requests, refused, broken, asked }: Record<'requests' | 'refused' | 'broken' | 'asked', number>,
): string | undefined {
  const tolerated = requests * TOLERATED_SHARE;
  if (requests === 0) return 'nothing was answered';
  if (refused + broken > tolerated) {
    return `${refused} of ${requests} requests were refused, and ${broken} connections broke`;
  }
  const every = missEvery(kind);
  const expected = every === 0 ? 0 : requests / every;
  // At its end each connection has a request under way, and so may the load before.
  if (Math.abs(asked - expected) <= tolerated + 2 * CONNECTIONS) return undefined;
  const wanted = every === MIXED_MISS_EVERY ? 'every tenth' : every === 0 ? 'none' : 'all';
  return `${asked} of ${requests} requests reached the indexer, and ${wanted} should have`;
}

async function indexerRequests({ indexerUrl }: Bench): Promise<number> {
  const counted = (await (await fetch(`${indexerUrl}/requests`)).json()) as { readonly requests: number };
  return counted.requests;
}

async function ask(url: string, gzip: boolean): Promise<void> {
  const response = await fetch(url, { headers: { 'Accept-Encoding': gzip ? 'gzip' : 'identity' } });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${url} was answered with status ${response.status}`);
}
