import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { about, type Counts, SimulatedLoad } from './simulated-load.ts';

/** The limit of about 20 requests a second to the indexer: by rate, or by 20 slots of 1 s each. */
export type Bound = 'rate' | 'slots';

export const SEEDS = ['a', 'b', 'c'];

const PER_SECOND = 20;
export const BOUNDS = {
  rate: { perSecond: PER_SECOND, indexer: { workers: 1000, serviceMs: about(20) } },
  slots: { maxConcurrency: 20, indexer: { workers: 1000, serviceMs: about(1000) } },
} as const;

const OPERATION = 'masterchainBlockShards';
/** Requests a second from new clients, one from each: 1.5 times the limit. */
const NEW_PER_SECOND = 30;
/** The number of returning clients, and of clients with pages. */
const CLIENTS = 3;

/** The clients next to the newcomers. */
export interface Beside {
  readonly bound: Bound;
  readonly seconds: number;
  readonly seed: string;
  /** Adds clients that each send the next request half a second after an answer or refusal. */
  readonly returning?: boolean;
  /** Adds clients that send two requests at once, and the next two a second after both have ended. */
  readonly pages?: boolean;
  /** Connections of one greedy client; each sends its next request after an answer, or 100 ms after a refusal. */
  readonly connections?: number;
}

/** The results of the requests, by kind of client. */
export interface Became {
  readonly newcomers: Counts;
  readonly returning: Counts;
  readonly pages: Counts;
  readonly greedy: Counts;
  /** The number of requests sent to the indexer. */
  readonly turns: number;
}

/** Simulates more new clients than the limit allows, next to other clients, on the simulated clock. */
export async function besideNewcomers({
  bound,
  seconds,
  seed,
  returning,
  pages,
  connections = 0,
}: Beside): Promise<Became> {
  const load = new SimulatedLoad({ ...BOUNDS[bound], seed });
  const random = new SeededRandom(seed, 'newcomers');
  const forMs = seconds * 1000;
  let newcomers = 0;
  for (let atMs = 0; atMs < forMs; ) {
    setTimeout(() => void load.ask(OPERATION, `new ${newcomers++}`, 'newcomers'), atMs);
    atMs -= (Math.log(1 - random.next()) * 1000) / NEW_PER_SECOND;
  }
  for (let n = 0; n < CLIENTS; n++) {
    const beginMs = 1000 * random.next();
    if (returning)
      setTimeout(() => void load.takingBreaks(500, forMs, OPERATION, `returns ${n}`, 'returning'), beginMs);
    if (pages) setTimeout(() => void load.takingBreaks(1000, forMs, OPERATION, `page ${n}`, 'pages', 2), beginMs);
  }
  if (connections > 0) load.closedLoop(connections, forMs, OPERATION, 'greedy', 'greedy');
  await load.run(forMs);
  const turns = load.sentAt.length;
  const of = (name: string) => ({ ...load.of(name) });
  const became = { newcomers: of('newcomers'), returning: of('returning'), pages: of('pages'), greedy: of('greedy') };
  // All requests of this run must have ended before the next run begins.
  await load.run(10_000);
  return { ...became, turns };
}

export const askedOf = ({ served, refused }: Counts) => served + refused;

/** The served part of all requests, 0 to 1. */
export function answeredOf(all: readonly Counts[]): number {
  const sum = (of: (counts: Counts) => number) => all.reduce((total, counts) => total + of(counts), 0);
  return sum(({ served }) => served) / sum(askedOf);
}
