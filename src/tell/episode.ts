import type { MonotonicMs } from '../time-units.ts';
import type { ConditionName, Level } from './conditions.ts';

/** A condition that is true now, or was a moment ago. */
export interface Condition {
  readonly name: ConditionName;
  /** The condition that explains it; its own name without one. */
  readonly because: ConditionName;
  readonly level: Level;
  readonly upstream?: string | undefined;
  readonly operation?: string | undefined;
  /** What it means for clients, in words; empty if the cause says all. */
  readonly effect: string;
  /** The reason for its sentence, in the words of the other side; may be empty. */
  readonly why: string;
  /** In words, with its effect and its reason. */
  readonly says: string;
  /** The section of docs/incidents.md with the steps. */
  readonly section: string;
  readonly since: MonotonicMs;
  /** When it stopped being true; `undefined` while it is. */
  readonly trueUntil: MonotonicMs | undefined;
}

/** A time in which clients were not served as usual, for one cause. */
export interface Episode {
  readonly level: Level;
  readonly since: MonotonicMs;
  /** When it stopped being true; `undefined` while it is. */
  readonly until: MonotonicMs | undefined;
  /** True once its last condition has ended. */
  readonly isOver: boolean;
  /** True while its cause is. */
  readonly isTrue: boolean;
  readonly effect: string;
  /** The condition that explains it, and its reason: the one that is true now, or was the last. */
  readonly cause: Pick<Condition, 'name' | 'operation' | 'why' | 'section'>;
  /** Of which indexers the cause is true; none if it is not about indexers. */
  readonly indexers: readonly string[];
  /** The number of operations that its conditions named. */
  readonly operations: number;
}
