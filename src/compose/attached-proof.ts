import type { BlockJudge, PollCount, ShownFollower } from '../answer/block-proof.ts';
import type { IndexersDependencies } from '../answer/indexers.ts';
import type { EntryLoaderDependencies, Load } from '../answer/load-entry.ts';
import type { SingleFlight } from '../once/single-flight.ts';
import type { OpenIndexers } from './indexers.ts';

/** The parts that load blocks, shared with clients' requests. */
export interface FollowerParts {
  readonly indexers: OpenIndexers;
  readonly ask: IndexersDependencies;
  readonly load: EntryLoaderDependencies;
  readonly flights: SingleFlight<Load>;
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
}

/** The proof of kept answers by blocks. The root attaches `proof/`; without it, no answers are proven. */
export interface BlockProof extends ShownFollower {
  readonly proofs: BlockJudge;
  readonly demand: PollCount;
  /** From now on blocks are followed while that pays. Call once. */
  start(parts: FollowerParts): void;
  /** Call when the clock has jumped, or everything was purged: no earlier answer is proven. */
  forget(): void;
  close(): void;
}
