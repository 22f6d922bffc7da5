/** What is offered over time, as a multiple of the indexer's nominal capacity: half of it before and after the load. */
export interface Scenario {
  /**
   * `steady`: a load that stays; `spike`: a short one; `wallets`: those who ask for `pendingTraces` ask again 100 ms
   * after anything but an answer, up to 20 times, so that the load is the higher the less it is answered.
   */
  readonly kind: ScenarioKind;
  readonly load: number;
  readonly beforeSeconds: number;
  readonly loadSeconds: number;
  readonly afterSeconds: number;
}

export const SCENARIO_KINDS = ['steady', 'spike', 'wallets'] as const;
export type ScenarioKind = (typeof SCENARIO_KINDS)[number];

/** 20 workers that take 50 ms. */
export const NOMINAL_CAPACITY_PER_SECOND = 400;
/** What is offered before and after. */
export const CALM_LOAD = 0.5;

const SPIKE: Scenario = { kind: 'spike', load: 5, beforeSeconds: 3, loadSeconds: 5, afterSeconds: 5 };
const WALLETS_LOAD = 2;

/** The scenarios of a kind; `loads` and `seconds` are for those that leave them open. */
export function scenariosOf(kind: ScenarioKind, loads: readonly number[], seconds: number): readonly Scenario[] {
  switch (kind) {
    case 'steady':
      return loads.map((load) => lasting(kind, load, seconds));
    case 'spike':
      return [SPIKE];
    case 'wallets':
      return [lasting(kind, WALLETS_LOAD, seconds)];
  }
}

/** As tables name it. */
export function nameOf({ kind, load }: Scenario): string {
  return kind === 'steady' ? `${load}x` : `${kind} ${load}x`;
}

function lasting(kind: ScenarioKind, load: number, loadSeconds: number): Scenario {
  return { kind, load, beforeSeconds: 2, loadSeconds, afterSeconds: 6 };
}
