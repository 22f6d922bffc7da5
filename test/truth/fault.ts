import type { Call } from './call.ts';
import type { World } from './world.ts';

/** What a fault may do to answers while it lasts, and for a while after. Nothing that is not named here is excused. */
export interface Excuses {
  /** The indexer fails or is overloaded: refusals, and stale copies instead of answers. */
  readonly refusals?: boolean;
  /** The same of one operation alone, which the indexer does not answer. */
  readonly hangs?: Call['operation'];
  /**
   * A replica of the indexer is so far behind, or its answers are so long under way, ms; pending traces go back and
   * forth, as nothing can guard them.
   */
  readonly lagMs?: number;
  /**
   * The database of one of two indexers is so far behind, ms, and its emulator is not: pending traces that have ended must
   * not be seen there.
   */
  readonly databaseLagMs?: number;
  /**
   * Loads take so long that a second one of the same key begins meanwhile. Of their answers the one that was asked for
   * later counts, even if the other one is newer: pending traces go back and forth.
   */
  readonly overlaps?: boolean;
  /** Instances cannot tell each other what was purged. */
  readonly cutOff?: boolean;
  /** Events do not arrive, or the indexer that is asked does not have what they announce: only the bound of an empty answer holds. */
  readonly losesEvents?: boolean;
}

/** So long a fault lasts that does not say how long. */
export const LASTS_MS = 3500;

/** A way in which the world goes wrong. */
export interface Fault {
  readonly name: string;
  /** The Redis that it needs; by default a server of its own. */
  readonly redis?: 'sentinels';
  /** Whether it needs two indexers with addresses of their own, instead of two replicas behind one address. */
  readonly twoIndexers?: true;
  /** Whether it needs the stream. */
  readonly streams?: true;
  readonly excuses?: Excuses;
  /** How long it lasts, ms; by default {@link LASTS_MS}. */
  readonly lastsMs?: number;
  /** How long after its end nothing goes wrong, ms; by default a moment. */
  readonly restMs?: number;
  /** How long after its end it is still an excuse, ms; by default no longer than it lasts. */
  readonly settlesMs?: number;
  /** Begins it; the function that it gives ends it. */
  readonly begin: (world: World) => Promise<() => Promise<void> | void>;
}
