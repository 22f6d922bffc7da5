import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { about, type Counts, SimulatedLoad } from './simulated-load.ts';

/** What bounds the requests to the indexer, to 20 a second. */
export type Bound = 'rate' | 'slots';

/** The seeds that all of this is measured with. */
export const SEEDS = ['a', 'b', 'c'];

const PER_SECOND = 20;
export const BOUNDS = {
  rate: { perSecond: PER_SECOND, indexer: { workers: 1000, serviceMs: about(20) } },
  slots: { maxConcurrency: 20, indexer: { workers: 1000, serviceMs: about(1000) } },
} as const;

const OPERATION = 'masterchainBlockShards';
/** Requests a second that each come from a client of their own: one and a half times what is answered. */
const NEW_PER_SECOND = 30;
/** Clients of each kind that come back. */
const CLIENTS = 3;

/** Who asks beside the newcomers. */
export interface Beside {
  readonly bound: Bound;
  readonly seconds: number;
  readonly seed: string;
  /** Clients that each ask again half a second after each answer or refusal. */
  readonly returning?: boolean;
  /** Clients that ask for two things at once, and again a second after both. */
  readonly pages?: boolean;
  /** The connections of one client, each of which asks on when it is answered. */
  readonly connections?: number;
}

/** What became of the requests, by who sent them. */
export interface Became {
  readonly newcomers: Counts;
  readonly returning: Counts;
  readonly pages: Counts;
  readonly greedy: Counts;
  /** Requests that were sent to the indexer. */
  readonly turns: number;
}

/** More new clients than can be answered, and others beside them, on the simulated clock. */
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
  // Nobody of this run is left when the next one begins.
  await load.run(10_000);
  return { ...became, turns };
}

export const askedOf = ({ served, refused }: Counts) => served + refused;

/** Of all requests, the part that was answered. */
export function answeredOf(all: readonly Counts[]): number {
  const sum = (of: (counts: Counts) => number) => all.reduce((total, counts) => total + of(counts), 0);
  return sum(({ served }) => served) / sum(askedOf);
}
