import type { LaneTarget } from '../fleet/lane-target.ts';

/** By which rules a request is sent, and where. A value that never changes: `fleet/lanes.ts` makes lanes of other lanes. */
export interface Lane {
  /** What is added to an operation for the name of a queue: requests of lanes with equal names wait in one. */
  readonly name: string;
  /** Whether it waits for a slot and a turn of the rate: not a refresh, nor what is sent beside another request. */
  readonly waits: boolean;
  /**
   * Of whose rate it needs a turn: of the indexers, or of the backups alone. Of `none` if it is sent with the client's own
   * API key: then neither our rate limit nor our pauses and circuit breakers apply to it.
   */
  readonly turns: 'own' | 'backup' | 'none';
  /** Whether it is a second try: it gets a turn of the rate only while no other request waits for one. */
  readonly isSecondTry: boolean;
  /** Which indexers it may be sent to: only `fleet/` reads it. */
  readonly to: LaneTarget;
}

/** The lane of a client's request, as long as nothing more is known of it. */
export const FIRST_TRY: Lane = { name: '', waits: true, turns: 'own', isSecondTry: false, to: {} };

/** Whether a refused request of a lane was a load that was shed: a refresh is dropped, and a second try was sent once. */
export function isShedIn({ waits, isSecondTry }: Lane): boolean {
  return waits && !isSecondTry;
}
