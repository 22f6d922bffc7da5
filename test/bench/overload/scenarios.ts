import type { Fault } from '../../../src/tools/simulator/faults.ts';
import type { ScopedFault } from '../../support/indexer-process.ts';
import type { Identity } from '../support/connections.ts';
import { NO_RATES, type Rates, SLOW_QUERY } from './calls.ts';
import type { Phase } from './schedule.ts';

/** The offered load over time, and the faults of the indexer. */
export interface Scenario {
  /** Its name in the table. */
  readonly name: string;
  /** The requests before the load: a new process is slower. */
  readonly warmUp?: Phase;
  readonly phases: readonly [before: Phase, load: Phase, after: Phase];
  /** The faults of some requests at the indexer. Such requests hold no worker. */
  readonly fault?: ScopedFault;
  /** The time of a worker of the indexer for one request. */
  readonly serviceMs: number;
  /** The number of workers, 20 by default. */
  readonly workers?: number;
  /** The load comes from this many clients, each with its own address; otherwise from one. */
  readonly clients?: number;
  /** How the server can tell them apart, if not by their addresses; the polite clients never invent anything. */
  readonly identity?: Identity;
  /** Clients with few requests next to the load. */
  readonly polite?: Polite;
  /** After this time clients of the load disconnect. */
  readonly leavesAfterMs?: number;
  /** Settings of toncache. */
  readonly env?: Readonly<Record<string, string>>;
  /** With 2 the polite clients use another toncache, which shares a Redis. */
  readonly instances?: 1 | 2;
  /** The capacity in requests a second, if it is not that of all workers. */
  readonly perSecond?: number;
  /** True if clients request `pendingTraces` again 100 ms after a failure, up to 20 times. */
  readonly retries?: boolean;
}

const WORKERS = 20;
const SERVICE_MS = 50;
/** The capacity of 20 workers of 50 ms, in requests a second. */
const CAPACITY_PER_SECOND = (WORKERS * 1000) / SERVICE_MS;

/** The capacity in a scenario, in requests a second. */
export function capacityOf({ perSecond, serviceMs, workers = WORKERS }: Scenario): number {
  return perSecond ?? (workers * 1000) / serviceMs;
}

/** Clients, each with its own address, and their requests together. */
export interface Polite {
  readonly clients: number;
  readonly rates: Rates;
}

/** Each requests one key a second. */
const POLITE: Polite = {
  clients: 20,
  rates: { ...NO_RATES, pendingTraces: 8, adjacentTransactions: 6, masterchainBlockShards: 6 },
};

/** The mix of bursts and closed loops. */
const SHORT_SERVICE_MS = 20;
const MIXED: Rates = { ...NO_RATES, pendingTraces: 4, adjacentTransactions: 3, masterchainBlockShards: 3 };
const CALM = even(0.5);
/** Without the operation that is about to fail. */
const OTHERS_CALM: Rates = { ...NO_RATES, adjacentTransactions: 100, masterchainBlockShards: 100 };
const ONE_STUCK: Rates = { ...NO_RATES, pendingTraces: 26, adjacentTransactions: 20, masterchainBlockShards: 20 };
/** Longer than a slow request takes. */
const STUCK_SECONDS = 20;

/** The requests of one greedy client. */
const BLOCKS: Rates = { ...NO_RATES, masterchainBlockShards: 1 };
const SLOW_BLOCKS: Rates = { ...NO_RATES, slowShards: 1 };
const PASSED: Rates = { ...NO_RATES, passThrough: 1 };
const PROVIDER = 'config/public-provider.json';

/** An answer takes this long, and is sent in one piece. */
function slowBy(pauseMs: number): Fault {
  return { kind: 'slow', chunkBytes: 2 ** 30, pauseMs };
}

/** By kind. `loads` (multiples of the capacity) and `seconds` apply to scenarios that leave them open. */
export const SCENARIOS = {
  /** A constant load. */
  steady: (loads, seconds) => {
    const warmUp = { rates: even(5), seconds: 4 };
    return loads.map((load) => ({ ...course(`${load}x`, CALM, { rates: even(load), seconds }), warmUp }));
  },
  /** A constant load whose clients retry. */
  wallets: (_, seconds) => [{ ...course('wallets 2x', CALM, { rates: even(2), seconds }), retries: true }],
  /** Bursts of up to a second of the indexer's work. */
  burst: () =>
    [200, 1000].map((size) =>
      cold(`${size} at once`, SHORT_SERVICE_MS, { rates: MIXED, seconds: 4, bursts: { size, everyMs: 4000 } }),
    ),
  /** Bursts of 800, as often as fit into `seconds`. */
  bursts: (_, seconds) => [
    cold('800 every 3 s', SHORT_SERVICE_MS, { rates: MIXED, seconds, bursts: { size: 800, everyMs: 3000 } }),
  ],
  /** Clients that send the next request as soon as they have an answer. */
  'closed-loop': (_, seconds) => [cold('300 clients', SHORT_SERVICE_MS, { rates: MIXED, seconds, clients: 300 })],
  /** Bursts of 30, four times a second. */
  pages: (_, seconds) => {
    const bursts = { size: 30, everyMs: 250 };
    return [cold('30 every 250 ms', SERVICE_MS, { rates: MIXED, seconds, bursts })];
  },
  /** `pendingTraces` gets the load, and the other operations get a request now and then. */
  slow: (_, seconds) => [stuck('slow', slowBy(4800), seconds)],
  hang: (_, seconds) => [stuck('hang', { kind: 'hang' }, seconds)],
  /** One or three greedy clients, by their addresses, behind a proxy or with invented ones; {@link POLITE} too. */
  greedy: (loads, seconds) => {
    const greedy = (clients: number, load: number): Scenario => {
      const name = `${clients} greedy, ${load}x`;
      const phase = { rates: spread(load * CAPACITY_PER_SECOND, 0), seconds };
      return { ...course(name, CALM, phase), clients, polite: POLITE };
    };
    return [
      ...loads.filter((load) => load > 1).map((load) => greedy(1, load)),
      greedy(3, 5),
      { ...greedy(1, 5), identity: 'forwarded', name: '1 greedy, 5x, all behind a proxy' },
      { ...greedy(1, 5), identity: 'invented', name: '1 greedy, 5x, invents addresses and keys' },
    ];
  },
  /** One client keeps 300 connections busy, next to the {@link POLITE}. */
  backfill: (_, seconds) => {
    const load = { rates: MIXED, seconds, clients: 300 };
    return [{ ...cold('backfill, 300 connections', SERVICE_MS, load), clients: 1, polite: POLITE }];
  },
  /** A constant load from many addresses. */
  addresses: (loads, seconds) =>
    loads
      .filter((load) => load > 1)
      .flatMap((load) =>
        [20, 5000].map((clients) => ({
          ...course(`${load}x from ${clients} addresses`, CALM, { rates: even(load), seconds }),
          warmUp: { rates: even(5), seconds: 4 },
          clients,
        })),
      ),
  /** One greedy client where the rate is the limit, next to five that use half of their share. */
  rate: (_, seconds) => [
    ...[10, 50].flatMap((perSecond) => rated(perSecond, seconds)),
    { ...rated(10, seconds)[0], name: '10/s, 100 misses, public-provider.json', env: { CONFIG_FILE: PROVIDER } },
  ],
  /**
   * One greedy client, and 25 that need three quarters of 16 slots; one requests keys that take 3 s, others fast ones.
   */
  slots: (_, seconds) => [
    {
      ...cold('16 slots, 100 misses of one client', 500, { rates: BLOCKS, seconds, clients: 100 }),
      env: { UPSTREAM_MAX_CONCURRENCY: '16' },
      perSecond: 32,
      clients: 1,
      polite: { clients: 25, rates: { ...NO_RATES, masterchainBlockShards: 24 } },
    },
    {
      ...cold('64 slots, 100 misses of one client that take 3 s', 10, { rates: SLOW_BLOCKS, seconds, clients: 100 }),
      workers: 1000,
      fault: { fault: slowBy(3000), scope: { query: SLOW_QUERY } },
      clients: 1,
      polite: { clients: 5, rates: { ...NO_RATES, masterchainBlockShards: 12 } },
    },
  ],
} satisfies Readonly<Record<string, (loads: readonly number[], seconds: number) => readonly Scenario[]>>;

/** A load with calm seconds before and after it. */
function course(name: string, calm: Rates, load: Phase): Scenario {
  return { name, serviceMs: SERVICE_MS, phases: [{ rates: calm, seconds: 2 }, load, { rates: calm, seconds: 5 }] };
}

function stuck(name: string, fault: Fault, seconds: number): Scenario {
  const load = { rates: ONE_STUCK, seconds: Math.max(seconds, STUCK_SECONDS) };
  return { ...course(name, OTHERS_CALM, load), fault: { fault, scope: { operation: 'pendingTraces' } } };
}

/**
 * One client next to the polite ones under a rate: it keeps 100 requests in flight, here or on another instance, or
 * disconnects.
 */
function rated(perSecond: number, seconds: number): [Scenario, ...Scenario[]] {
  const of = (name: string, load: Phase, more: Partial<Scenario> = {}): Scenario => ({
    ...cold(`${perSecond}/s, ${name}`, 10, load),
    env: { UPSTREAM_RPS: `${perSecond}` },
    perSecond,
    clients: 1,
    polite: { clients: 5, rates: { ...NO_RATES, masterchainBlockShards: (0.5 * 5 * perSecond) / 6 } },
    ...more,
  });
  const misses = { rates: BLOCKS, seconds, clients: 100 };
  return [
    of('100 misses', misses),
    of('100 misses on another instance', misses, { instances: 2 }),
    of(
      '230 misses a second that are left',
      { rates: { ...BLOCKS, masterchainBlockShards: 230 }, seconds },
      { leavesAfterMs: 30 },
    ),
    of(
      '100 passed through',
      { rates: PASSED, seconds, clients: 100 },
      {
        env: { UPSTREAM_RPS: `${perSecond}`, PASSTHROUGH: 'on' },
      },
    ),
  ];
}

/** A load on a new process, with nothing before or after it. */
function cold(name: string, serviceMs: number, load: Phase): Scenario {
  const idle: Phase = { rates: MIXED, seconds: 1, bursts: { size: 1, everyMs: 1000 } };
  return { name: `${name}, ${serviceMs} ms`, serviceMs, phases: [idle, load, idle] };
}

/** A multiple of the capacity; a tenth of the requests are hot. */
function even(load: number): Rates {
  return spread(0.9 * load * CAPACITY_PER_SECOND, 0.1 * load * CAPACITY_PER_SECOND);
}

/** This many unique requests a second, of all operations. */
function spread(unique: number, hot: number): Rates {
  return {
    ...NO_RATES,
    hot,
    pendingTraces: 0.4 * unique,
    adjacentTransactions: 0.3 * unique,
    masterchainBlockShards: 0.3 * unique,
  };
}
