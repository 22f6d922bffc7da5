import { restoreClock, simulateClock } from '../../support/simulated-clock.ts';
import { delayedBurst } from '../../unit/admission/delayed-burst.ts';
import {
  answeredOf,
  askedOf,
  type Became,
  type Beside,
  type Bound,
  besideNewcomers,
  SEEDS,
} from '../../unit/admission/newcomers.ts';
import { markdownTable } from '../support/report.ts';

/** A table of the simulated cases, and whether every promise was kept. */
export interface Simulated {
  readonly table: string;
  readonly isAsPromised: boolean;
}

const BOUNDS: readonly Bound[] = ['rate', 'slots'];
/** Returning clients get at least this many requests answered, and at least this share of what newcomers get. */
const [FEWEST_REQUESTS, AS_OFTEN] = [1000, 0.9];
/** The largest share of the slots that one client with 50 connections may get. */
const GREEDIEST = 1 / 7;

const DELAYED_BURSTS = 1000;

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;

/**
 * 30 new clients a second at a capacity of 20 requests a second, next to returning clients, pages of two misses, and
 * one client with 50 connections. The real admission with a simulated clock, independent of the machine.
 */
export async function simulateNewcomers(): Promise<Simulated> {
  const rows: string[][] = [];
  const kept: boolean[] = [];
  for (const bound of BOUNDS) {
    for (const seed of SEEDS) {
      const run = (beside: Partial<Beside>) =>
        simulated(() => besideNewcomers({ bound, seed, seconds: 600, ...beside }));
      console.error(`... newcomers, by ${bound}, seed ${seed}`);
      const returning = await run({ returning: true });
      const pages = await run({ pages: true });
      const crowded = await run({ returning: true, connections: 50, seconds: 200 });
      const greediest = crowded.greedy.served / crowded.turns;
      kept.push(isAsOften(returning, 'returning'), isAsOften(pages, 'pages'), greediest <= GREEDIEST);
      const answered = ({ newcomers, ...became }: Became, who: 'returning' | 'pages') =>
        `${percent(answeredOf([became[who]]))}, new ${percent(answeredOf([newcomers]))}`;
      rows.push([`${bound}, ${seed}`, answered(returning, 'returning'), answered(pages, 'pages'), percent(greediest)]);
    }
  }
  const heads = ['20 a second by, seed', 'returning answered', 'pages of two answered', 'turns of 50 connections'];
  return { table: markdownTable(heads, rows), isAsPromised: !kept.includes(false) };
}

/** Bursts of 800 cold keys on a machine whose event loop is delayed: none of them is an overload. */
export async function simulateDelayedBursts(): Promise<Simulated> {
  console.error('... bursts by a delayed event loop');
  let [bursts, requests, longestMs] = [0, 0, 0];
  for (let n = 0; n < DELAYED_BURSTS; n++) {
    const { refused, lastedMs } = await simulated(() => delayedBurst(`burst ${n}`));
    if (refused > 0) bursts++;
    requests += refused;
    longestMs = Math.max(longestMs, lastedMs);
  }
  const row = [`${DELAYED_BURSTS}`, `${bursts}`, `${requests}`, `${Math.round(longestMs)} ms`];
  const table = markdownTable(['delayed bursts', 'with refusals', 'requests refused', 'longest'], [row]);
  return { table, isAsPromised: bursts === 0 };
}

async function simulated<T>(run: () => Promise<T>): Promise<T> {
  simulateClock();
  try {
    return await run();
  } finally {
    restoreClock();
  }
}

function isAsOften({ newcomers, ...became }: Became, who: 'returning' | 'pages'): boolean {
  const those = became[who];
  return askedOf(those) >= FEWEST_REQUESTS && answeredOf([those]) >= AS_OFTEN * answeredOf([newcomers]);
}
