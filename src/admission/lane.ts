import type { LaneTarget } from '../fleet/lane-target.ts';

/** The rules by which a request is sent. It is immutable: `fleet/lanes.ts` makes lanes from other lanes. */
export interface Lane {
  /** Added to the name of the operation, it names a queue: requests whose lanes have one name wait together. */
  readonly name: string;
  /** Whether the request waits for a slot and a turn of the rate. A refresh does not, nor does a hedge. */
  readonly waits: boolean;
  /**
   * Whose turns of the rate it takes: those of all indexers, or of the backups alone. `none`: it is sent with the client's
   * own API key, and neither our rate limit nor our pauses and circuit breakers apply.
   */
  readonly turns: 'own' | 'backup' | 'none';
  /** Whether the request is a second try, which gets a turn of the rate only while no first try waits for one. */
  readonly isSecondTry: boolean;
  /** Which indexers it may be sent to: only `fleet/` reads it. */
  readonly to: LaneTarget;
}

/** The lane of an ordinary request: it waits, takes any turn, and may be sent to any indexer. */
export const FIRST_TRY: Lane = { name: '', waits: true, turns: 'own', isSecondTry: false, to: {} };
