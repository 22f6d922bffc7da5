import type { Call } from './call.ts';
import type { World } from './world.ts';

/** The effects of a fault that are excused while it lasts, and for a while after. Every other effect is a finding. */
export interface Excuses {
  /** The indexer fails or is overloaded: refusals, and stale copies instead of answers. */
  readonly refusals?: boolean;
  /** The same for only one operation, which the indexer does not answer. */
  readonly hangs?: Call['operation'];
  /**
   * A replica of the indexer is this far behind, or its answers take this long, ms. Pending traces go back and forth,
   * as nothing can guard them.
   */
  readonly lagMs?: number;
  /**
   * The database of one of two indexers is this far behind, ms, and its emulator is not. Pending traces that have ended
   * must not be seen there.
   */
  readonly databaseLagMs?: number;
  /**
   * Loads are so slow that a second load of the same key begins before the first ends. The answer with the later
   * request wins, even if the other one is newer: pending traces go back and forth.
   */
  readonly overlaps?: boolean;
  /** Instances cannot tell each other about purges. */
  readonly cutOff?: boolean;
}

/** The default duration of a fault, ms. */
export const LASTS_MS = 3500;

/** One kind of failure of the world. */
export interface Fault {
  readonly name: string;
  /** The Redis that it needs; by default a server for this run. */
  readonly redis?: 'sentinels' | 'with a clock to set';
  /** True if it needs two indexers with different addresses, instead of two replicas behind one address. */
  readonly twoIndexers?: true;
  readonly excuses?: Excuses;
  /** Its duration, ms; by default {@link LASTS_MS}. */
  readonly lastsMs?: number;
  /** The pause after its end, ms; by default a moment. */
  readonly restMs?: number;
  /** It is an excuse for this long after its end, ms; by default as long as it lasts. */
  readonly settlesMs?: number;
  /** Begins it. Returns the function that ends it. */
  readonly begin: (world: World) => Promise<() => Promise<void> | void>;
}
