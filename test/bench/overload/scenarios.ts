import type { Fault } from '../../../src/tools/simulator/faults.ts';
import type { Identity } from '../support/connections.ts';
import { NO_RATES, type Rates } from './calls.ts';
import type { Phase } from './schedule.ts';

/** What is offered over time, and what goes wrong at the indexer meanwhile. */
export interface Scenario {
  /** As the table names it. */
  readonly name: string;
  /** What toncache answers before: a process that has just begun is slower. */
  readonly warmUp?: Phase;
  readonly phases: readonly [before: Phase, load: Phase, after: Phase];
  /** What befalls `pendingTraces` at the indexer; such requests hold no worker. */
  readonly fault?: Fault;
  /** How long one of the indexer's 20 workers takes for a request. */
  readonly serviceMs: number;
  /** So many clients, each with an address of its own, share the load; without it, it comes from 127.0.0.1. */
  readonly clients?: number;
  /** How they show who they are, if not by their addresses; the {@link POLITE} never invent anything. */
  readonly identity?: Identity;
  /** Whether clients ask for `pendingTraces` again 100 ms after anything but an answer, up to 20 times. */
  readonly retries?: boolean;
}

const WORKERS = 20;
const SERVICE_MS = 50;
/** Requests a second that 20 workers of 50 ms can answer. */
export const CAPACITY_PER_SECOND = (WORKERS * 1000) / SERVICE_MS;

/** Clients, each with an address of its own, that ask for one key a second each. */
export const POLITE = {
  clients: 20,
  rates: { hot: 0, pendingTraces: 8, adjacentTransactions: 6, masterchainBlockShards: 6 },
};

/** Of bursts and closed loops. */
const SHORT_SERVICE_MS = 20;
const MIXED: Rates = { ...NO_RATES, pendingTraces: 4, adjacentTransactions: 3, masterchainBlockShards: 3 };
const CALM = even(0.5);
/** Nothing of the operation that is about to fail. */
const OTHERS_CALM: Rates = { ...NO_RATES, adjacentTransactions: 100, masterchainBlockShards: 100 };
const ONE_STUCK: Rates = { ...NO_RATES, pendingTraces: 26, adjacentTransactions: 20, masterchainBlockShards: 20 };
/** Longer than a request that is slow takes. */
const STUCK_SECONDS = 20;

/** Each takes 4.8 s, and is sent in one piece. */
const SLOW: Fault = { kind: 'slow', chunkBytes: 2 ** 30, pauseMs: 4800 };

/** By kind; `loads`, multiples of the capacity, and `seconds` are for those that leave them open. */
export const SCENARIOS = {
  /** A load that stays. */
  steady: (loads, seconds) => {
    const warmUp = { rates: even(5), seconds: 4 };
    return loads.map((load) => ({ ...course(`${load}x`, CALM, { rates: even(load), seconds }), warmUp }));
  },
  /** So does this one, whose clients ask again. */
  wallets: (_, seconds) => [{ ...course('wallets 2x', CALM, { rates: even(2), seconds }), retries: true }],
  /** Many at once, up to a second of the indexer's work. */
  burst: () =>
    [200, 1000].map((size) =>
      cold(`${size} at once`, SHORT_SERVICE_MS, { rates: MIXED, seconds: 4, bursts: { size, everyMs: 4000 } }),
    ),
  /** Clients that ask again as soon as they were answered. */
  'closed-loop': (_, seconds) => [cold('300 clients', SHORT_SERVICE_MS, { rates: MIXED, seconds, clients: 300 })],
  /** 30 at once, four times a second. */
  pages: (_, seconds) => {
    const bursts = { size: 30, everyMs: 250 };
    return [cold('30 every 250 ms', SERVICE_MS, { rates: MIXED, seconds, bursts })];
  },
  /** `pendingTraces` is, and the other operations are asked for now and then. */
  slow: (_, seconds) => [stuck('slow', SLOW, seconds)],
  hang: (_, seconds) => [stuck('hang', { kind: 'hang' }, seconds)],
  /** One or three clients ask for too much, by their addresses, behind a proxy or with invented ones; {@link POLITE} too. */
  greedy: (loads, seconds) => {
    const greedy = (clients: number, load: number): Scenario => {
      const name = `${clients} greedy, ${load}x`;
      return { ...course(name, CALM, { rates: spread(load * CAPACITY_PER_SECOND, 0), seconds }), clients };
    };
    return [
      ...loads.filter((load) => load > 1).map((load) => greedy(1, load)),
      greedy(3, 5),
      { ...greedy(1, 5), identity: 'forwarded', name: '1 greedy, 5x, all behind a proxy' },
      { ...greedy(1, 5), identity: 'invented', name: '1 greedy, 5x, invents addresses and keys' },
    ];
  },
  /** One client has 300 connections and asks on when answered, beside the {@link POLITE}. */
  backfill: (_, seconds) => {
    const load = { rates: MIXED, seconds, clients: 300 };
    return [{ ...cold('backfill, 300 connections', SERVICE_MS, load), clients: 1 }];
  },
} satisfies Readonly<Record<string, (loads: readonly number[], seconds: number) => Scenario[]>>;

/** A load with calm seconds before and after it. */
function course(name: string, calm: Rates, load: Phase): Scenario {
  return { name, serviceMs: SERVICE_MS, phases: [{ rates: calm, seconds: 2 }, load, { rates: calm, seconds: 5 }] };
}

function stuck(name: string, fault: Fault, seconds: number): Scenario {
  const load = { rates: ONE_STUCK, seconds: Math.max(seconds, STUCK_SECONDS) };
  return { ...course(name, OTHERS_CALM, load), fault };
}

/** A load that meets a process that has just begun, and nothing before or after it. */
function cold(name: string, serviceMs: number, load: Phase): Scenario {
  const idle: Phase = { rates: MIXED, seconds: 1, bursts: { size: 1, everyMs: 1000 } };
  return { name: `${name}, ${serviceMs} ms`, serviceMs, phases: [idle, load, idle] };
}

/** A multiple of the capacity; a tenth of the requests is hot. */
function even(load: number): Rates {
  return spread(0.9 * load * CAPACITY_PER_SECOND, 0.1 * load * CAPACITY_PER_SECOND);
}

/** So many unique requests a second, of all operations. */
function spread(unique: number, hot: number): Rates {
  return {
    hot,
    pendingTraces: 0.4 * unique,
    adjacentTransactions: 0.3 * unique,
    masterchainBlockShards: 0.3 * unique,
  };
}
