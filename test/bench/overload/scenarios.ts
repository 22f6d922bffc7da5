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
}

/** What befalls `pendingTraces` at the indexer: each is answered with 500, or 20 connections a second are reset. */
export type IndexerFault = 'failing' | 'resets';

/**
 * `steady`: a load that stays; `spike`: a short one; `wallets`: those who ask for `pendingTraces` ask again 100 ms
 * after anything but an answer, up to 20 times, so that the load is the higher the less it is answered; `flood`: one
 * operation is asked for far too often, the others are not; `failing`: one operation fails, the others alone are nearly
 * all that the indexer can answer; `resets`: connections break at the indexer.
 */
export const SCENARIO_KINDS = ['steady', 'flood', 'failing', 'resets', 'spike', 'wallets'] as const;
export type ScenarioKind = (typeof SCENARIO_KINDS)[number];

/** 20 workers that take 50 ms. */
export const NOMINAL_CAPACITY_PER_SECOND = 400;

const WARM_UP: Phase = { rates: even(5), seconds: 4 };
const CALM = even(0.5);
/** Nothing of the operation that is about to fail. */
const OTHERS_CALM: Rates = { hot: 0, pendingTraces: 0, adjacentTransactions: 100, masterchainBlockShards: 100 };
const FLOOD: Rates = { hot: 0, pendingTraces: 1200, adjacentTransactions: 50, masterchainBlockShards: 50 };
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
  }
}

/** As tables name it. */
export function nameOf({ kind, load }: Scenario): string {
  return kind === 'steady' ? `${load}x` : `${kind} ${load}x`;
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

interface Course {
  readonly seconds: number;
  readonly calm?: Rates;
  readonly fault?: IndexerFault;
}

function scenario(kind: ScenarioKind, rates: Rates, { seconds, calm = CALM, fault }: Course): Scenario {
  return {
    kind,
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
