import { type Rates, totalOf } from './calls.ts';
import type { Phase } from './schedule.ts';

/** What is offered over time, and what goes wrong at the indexer meanwhile. */
export interface Scenario {
  readonly kind: ScenarioKind;
  /** What is offered while the load lasts, as a multiple of the indexer's nominal capacity. */
  readonly load: number;
  /** What toncache has answered before: a process that has just begun is slower. Not where it would break things, or come back. */
  readonly warmUp: Phase | undefined;
  readonly phases: readonly [before: Phase, load: Phase, after: Phase];
  readonly fault: IndexerFault | undefined;
  /** How long one of the indexer's 20 workers takes for a request. */
  readonly serviceMs: number;
  /** So many clients, each with an address of its own, share the load; without it, it comes from 127.0.0.1. */
  readonly clients?: number;
  /** What sets it apart from others of its kind with the same load. */
  readonly detail?: string;
}

/**
 * What befalls `pendingTraces` at the indexer: each is answered with 500, 20 connections a second are reset, each takes
 * 4.8 s, or none is answered. Those that take long hold no worker.
 */
export type IndexerFault = 'failing' | 'resets' | 'slow' | 'hang';

/**
 * `steady`: a load that stays; `spike`: a short one; `wallets`: those who ask for `pendingTraces` ask again 100 ms
 * after anything but an answer, up to 20 times, so that the load is the higher the less it is answered; `flood`: one
 * operation is asked for far too often, the others are not; `failing`: one operation fails, the others alone are nearly
 * all that the indexer can answer; `resets`: connections break at the indexer; `burst`: many at once, up to a second of
 * the indexer's work; `closed-loop`: clients that ask again as soon as they were answered; `pages`: 30 at once, four
 * times a second; `slow`, `hang`: one operation takes 4.8 s, or is not answered, and the others are asked for now and then;
 * `greedy`: one or three clients ask for too much; `backfill`: one client has 300 connections and asks on when answered.
 * Beside these two, the {@link POLITE} ask for little.
 */
export const SCENARIO_KINDS = [
  'steady',
  'flood',
  'failing',
  'resets',
  'spike',
  'wallets',
  'burst',
  'closed-loop',
  'pages',
  'slow',
  'hang',
  'greedy',
  'backfill',
] as const;
export type ScenarioKind = (typeof SCENARIO_KINDS)[number];

/** 20 workers that take 50 ms. */
export const NOMINAL_CAPACITY_PER_SECOND = 400;

/** Clients, each with an address of its own, that ask for one key a second each. */
export const POLITE = {
  clients: 20,
  rates: { hot: 0, pendingTraces: 8, adjacentTransactions: 6, masterchainBlockShards: 6 },
};

const WARM_UP: Phase = { rates: even(5), seconds: 4 };
const CALM = even(0.5);
/** Nothing of the operation that is about to fail. */
const OTHERS_CALM: Rates = { hot: 0, pendingTraces: 0, adjacentTransactions: 100, masterchainBlockShards: 100 };
const FLOOD: Rates = { hot: 0, pendingTraces: 1200, adjacentTransactions: 50, masterchainBlockShards: 50 };
const ONE_STUCK: Rates = { hot: 0, pendingTraces: 26, adjacentTransactions: 20, masterchainBlockShards: 20 };
const MIXED: Rates = { hot: 0, pendingTraces: 4, adjacentTransactions: 3, masterchainBlockShards: 3 };
const WORKERS = 20;
const SERVICE_MS = 50;
const SERVICE_TIMES_MS = [20, SERVICE_MS];
const BURSTS = [50, 200];
const CLIENTS = [30, 100, 300];
const FAILING: Rates = { hot: 0, pendingTraces: 200, adjacentTransactions: 180, masterchainBlockShards: 180 };

/** The scenarios of a kind; `loads` and `seconds` are for those that leave them open. */
export function scenariosOf(kind: ScenarioKind, loads: readonly number[], seconds: number): readonly Scenario[] {
  switch (kind) {
    case 'steady':
      return loads.map((load) => scenario(kind, even(load), { seconds }));
    case 'spike':
      return [scenario(kind, even(5), { seconds: 5 })];
    case 'wallets':
      return [scenario(kind, even(2), { seconds })];
    case 'flood':
      return [scenario(kind, FLOOD, { seconds })];
    case 'failing':
      return [scenario(kind, FAILING, { seconds, calm: OTHERS_CALM, fault: kind })];
    case 'resets':
      return [scenario(kind, even(0.9), { seconds, calm: OTHERS_CALM, fault: kind })];
    case 'slow':
    case 'hang':
      return [scenario(kind, ONE_STUCK, { seconds: Math.max(seconds, 20), calm: OTHERS_CALM, fault: kind })];
    case 'greedy':
      return [
        ...loads.filter((load) => load > 1).map((load) => scenario(kind, misses(load), { seconds, clients: 1 })),
        scenario(kind, misses(5), { seconds, clients: 3 }),
      ];
    case 'backfill':
      return [{ ...cold(kind, SERVICE_MS, '300 connections', { rates: MIXED, seconds, clients: 300 }), clients: 1 }];
    case 'burst':
      return SERVICE_TIMES_MS.flatMap((serviceMs) =>
        [...BURSTS, capacityOf(serviceMs)].map((size) =>
          cold(kind, serviceMs, `${size} at once`, { rates: MIXED, seconds: 4, bursts: { size, everyMs: 4000 } }),
        ),
      );
    case 'closed-loop':
      return SERVICE_TIMES_MS.flatMap((serviceMs) =>
        CLIENTS.map((clients) => cold(kind, serviceMs, `${clients} clients`, { rates: MIXED, seconds, clients })),
      );
    case 'pages':
      return [cold(kind, SERVICE_MS, '30 every 250 ms', { rates: MIXED, seconds, bursts: { size: 30, everyMs: 250 } })];
  }
}

/** As tables name it. */
export function nameOf({ kind, load, detail, serviceMs, clients }: Scenario): string {
  if (kind === 'greedy') return `${clients} greedy, ${load}x`;
  if (kind === 'steady') return `${load}x`;
  return detail === undefined ? `${kind} ${load}x` : `${kind}, ${detail}, ${serviceMs} ms`;
}

/** Requests a second that the indexer can answer. */
function capacityOf(serviceMs: number): number {
  return (WORKERS * 1000) / serviceMs;
}

/** A load that meets a process that has just begun, and nothing before or after it. */
function cold(kind: ScenarioKind, serviceMs: number, detail: string, phase: Phase): Scenario {
  const idle: Phase = { rates: MIXED, seconds: 1, bursts: { size: 1, everyMs: 1000 } };
  return { kind, serviceMs, detail, load: 1, warmUp: undefined, phases: [idle, phase, idle], fault: undefined };
}

/** A tenth of the requests is hot, the rest is spread over the operations. */
function even(load: number): Rates {
  const perSecond = load * NOMINAL_CAPACITY_PER_SECOND;
  return {
    hot: 0.1 * perSecond,
    pendingTraces: 0.36 * perSecond,
    adjacentTransactions: 0.27 * perSecond,
    masterchainBlockShards: 0.27 * perSecond,
  };
}

function misses(load: number): Rates {
  const perSecond = load * NOMINAL_CAPACITY_PER_SECOND;
  return {
    hot: 0,
    pendingTraces: 0.4 * perSecond,
    adjacentTransactions: 0.3 * perSecond,
    masterchainBlockShards: 0.3 * perSecond,
  };
}

interface Course {
  readonly seconds: number;
  readonly calm?: Rates;
  readonly fault?: IndexerFault;
  readonly clients?: number;
}

function scenario(kind: ScenarioKind, rates: Rates, { seconds, calm = CALM, fault, clients }: Course): Scenario {
  return {
    kind,
    serviceMs: SERVICE_MS,
    ...(clients !== undefined && { clients }),
    warmUp: fault === undefined && kind !== 'wallets' ? WARM_UP : undefined,
    load: Number((totalOf(rates) / NOMINAL_CAPACITY_PER_SECOND).toFixed(2)),
    phases: [
      { rates: calm, seconds: 2 },
      { rates, seconds },
      { rates: calm, seconds: 5 },
    ],
    fault,
  };
}
