import type { Lane } from '../admission/lane.ts';
import type { ProxyError } from '../errors.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { Doubt } from './doubt.ts';
import type { Health } from './health.ts';
import { again, besides, isHedge } from './lanes.ts';
import type { RetryBudget } from './retry-budget.ts';

/** The part of an answer that a second try depends on. */
export interface TriedAnswer {
  /** True if it reports that nothing is there. */
  readonly isAbsent: boolean;
  /** See {@link Doubt}. */
  readonly isDoubtful: boolean;
  /** True if it is less complete than the known answer, of this or another indexer. */
  readonly isRegressed: boolean;
}

/** The result of a try. */
export type Tried = TriedAnswer | ProxyError;

export interface SecondTriesDependencies {
  /** In the order of the routes of admission. */
  readonly indexers: readonly { readonly route: { readonly health?: Pick<Health, 'isFailing'> | undefined } }[];
  readonly doubt: Doubt;
  /** Pays for second tries at the only indexer, and for those after a failure while no other indexer is healthy. */
  readonly retries: Pick<RetryBudget, 'tryTake'>;
}

/**
 * Decides which requests are sent a second time, and where: `again` in {@link OUTCOMES} lists the failures after which
 * they are. With several indexers, another one gets the request
 *
 * - if the first one failed or could not get it after all,
 * - if its answer is doubtful ({@link Doubt}),
 * - if its answer is less complete than the known one.
 */
export class SecondTries {
  readonly #dependencies: SecondTriesDependencies;

  constructor(dependencies: SecondTriesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The lane of the second try after the first one, which was sent by `lane` to the indexer at `index`; `undefined` for
   * no second try. `isKnown`: there is an older answer to compare with.
   */
  laneAfter(first: Tried, lane: Lane, index: number, isKnown: boolean): Lane | undefined {
    const { indexers, doubt, retries } = this.#dependencies;
    const when = OUTCOMES['code' in first ? outcomeOf(first) : 'answered'].again;
    if (indexers.length === 1) return when === 'anywhere' && retries.tryTake() ? again(lane) : undefined;
    if ('code' in first && when !== 'if doubtful') {
      if (when === 'nowhere') return undefined;
      const isAnotherWell = indexers.some(({ route }, other) => other !== index && route.health?.isFailing === false);
      return isAnotherWell || retries.tryTake() ? again(lane, index) : undefined;
    }
    const isDoubtful =
      'code' in first
        ? doubt.isDoubtfulFailure(first, lane.to.seqno, index)
        : first.isDoubtful && (first.isRegressed || !isKnown || !first.isAbsent);
    if (isDoubtful) return doubt.elsewhere(lane, index);
    return !('code' in first) && first.isRegressed ? besides(lane, index) : undefined;
  }

  /**
   * Compares both results, of requests by these lanes: the indexer at `index`, which got the first request, may lack a
   * block that the other one has.
   */
  compare(first: Tried, second: TriedAnswer, [lane, other]: readonly [Lane, Lane], index: number): void {
    const { seqno } = lane.to;
    const hadNothing = 'code' in first || (first.isDoubtful && first.isAbsent);
    if (isHedge(other) && seqno !== undefined && hadNothing && !second.isAbsent)
      this.#dependencies.doubt.refute(seqno, index);
  }
}
