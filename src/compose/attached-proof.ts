import type { AskDependencies } from '../answer/ask.ts';
import type { BlockJudge, PollCount, ShownFollower } from '../answer/block-proof.ts';
import type { Load, LoaderDependencies } from '../answer/load.ts';
import type { SingleFlight } from '../once/single-flight.ts';
import type { Purges } from '../purge/purges.ts';
import type { OpenIndexers } from './indexers.ts';
import type { SharedRedis } from './redis.ts';

/** The parts that load blocks, shared with clients' requests. */
export interface FollowerParts {
  readonly indexers: OpenIndexers;
  readonly ask: AskDependencies;
  readonly load: LoaderDependencies;
  readonly flights: SingleFlight<Load>;
  /** Absent when the proxy runs on memory alone. */
  readonly redis: SharedRedis | undefined;
  /** The number of instances on one Redis, including this one. */
  readonly instances: () => number;
  /** What instances tell each other in the exchange of purges. */
  readonly exchange: Pick<Purges, 'say' | 'instancesPolling'>;
  /** See `Clock.isShared`. */
  readonly isClockShared: () => boolean;
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
