import type { Settings } from '../config/schema.ts';
import type { EventHub } from '../event-hub.ts';
import type { Names } from '../names/names.ts';
import type { IndexerErrors } from '../tell/indexer-errors.ts';
import type { Metrics } from '../tell/metrics.ts';
import type { Conditions } from '../tell/present-conditions.ts';
import type { EpochMs, MonotonicMs } from '../time-units.ts';
import type { LifetimePolicies } from '../ton/lifetime-table.ts';
import type { OperationsInUse } from '../ton/operations.ts';
import type { Constants } from './constants.ts';

/** The common context of all components of one app. */
export interface AppContext {
  readonly settings: Settings;
  readonly constants: Constants;
  /** The table of lifetimes with the settings. */
  readonly lifetimes: LifetimePolicies;
  readonly operations: OperationsInUse;
  readonly events: EventHub;
  readonly metrics: Metrics;
  readonly conditions: Conditions;
  /** How requests to each indexer fail. */
  readonly errors: IndexerErrors;
  readonly names: Names;
  readonly now: () => EpochMs;
  readonly monotonic: () => MonotonicMs;
  /** 0 to 1. */
  readonly random: () => number;
}
