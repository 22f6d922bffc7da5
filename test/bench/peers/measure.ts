import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Case, MIXED_MISS_EVERY, missEvery, titleOf } from './cases.ts';
import type { Peer, Place } from './peer.ts';
import { cpuMicrosOf } from './process-cpu.ts';
import { hitTarget, missPattern } from './targets.ts';
import { runWrk } from './wrk.ts';

/** The figures of one load on one server. */
export interface Sample {
  readonly cpuMicrosPerRequest: number;
  readonly requestsPerSecond: number;
  /** Heads included. */
  readonly bytesPerRequest: number;
  readonly p99Ms: number;
}

/** The figures of one case on one server, a sample for each round. */
export interface Measured {
  readonly compared: Case;
  readonly peer: string;
  readonly samples: readonly Sample[];
}

/** What all cases share. */
export interface Bench {
  readonly wrk: string;
  readonly generatorCore: number;
  readonly indexerUrl: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** Length of the load before the first round, which is not measured: Node compiles hot code during it. */
const WARM_UP_SECONDS = 2;
/** Below toncache's default of 64 concurrent requests at the indexer, so that misses never wait for a slot. */
const CONNECTIONS = 32;
/** Share of requests that may fail, or reach the indexer unexpectedly, before a load is refused as invalid. */
const TOLERATED_SHARE = 0.01;

/** The number of the next miss: no two misses of a run ask for the same key. */
let misses = 0;

/** Runs one case on every server that takes part, in turn, once a round. Rejects when a load was not what the case says. */
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

/** Says why a load was not what its case says; undefined when it was. `asked`: requests that reached the indexer. */
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
  // At the end of this load, and of the one before, each connection can have a request that wrk does not count.
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
