import type { LaneTarget } from './lane-target.ts';

/** The rules by which a request is sent. A lane is immutable: `fleet/lanes.ts` makes lanes from other lanes. */
export interface Lane {
  /** Part of the name of a queue, after the operation: requests whose lanes have the same name wait together. */
  readonly name: string;
  /** True if the request waits for a slot and a reservation of the rate. Refreshes and hedges do not wait. */
  readonly waits: boolean;
  /**
   * The rate that the request counts for: that of any indexer, or of the backups only. `none`: our rate limit, pauses and
   * circuit breakers do not apply.
   */
  readonly rate: 'own' | 'backup' | 'none';
  /**
   * False if we have an API key and the request is sent without it. No backup gets such a request. Its answer shows
   * nothing about the limits of our key, so it neither begins nor ends a pause.
   */
  readonly isOurs: boolean;
  /** A second try gets a reservation of the rate only while no first try waits for one. */
  readonly isSecondTry: boolean;
  /** The indexers that may get it; read only by `fleet/`. */
  readonly to: LaneTarget;
}

/** The lane of an ordinary request: it waits, uses any reservation, and may be sent to any indexer. */
export const FIRST_TRY: Lane = { name: '', waits: true, rate: 'own', isOurs: true, isSecondTry: false, to: {} };
