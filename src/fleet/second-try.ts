import type { SendRules } from '../admission/send-rules.ts';
import type { ProxyError } from '../errors.ts';
import type { Head } from '../indexer/head.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { Finality } from '../ton/finality.ts';
import { ROWS } from '../ton/lifetime-table.ts';
import type { Heads } from './heads.ts';
import type { Health } from './health.ts';
import type { RetryBudget } from './retry-budget.ts';

/** The part of an answer that a second try depends on. */
export interface TriedAnswer {
  /** True if it reports that nothing is there. */
  readonly isAbsent: boolean;
  /** True if another indexer may know better: see {@link secondTryWith}. */
  readonly isDoubtful: boolean;
  /** True if it is less complete than the known answer, of this or another indexer. */
  readonly isRegressed: boolean;
}

/** The result of a try. */
export type Tried = TriedAnswer | ProxyError;

export interface SecondTryDependencies {
  /** In the order of the routes of admission, backups last. */
  readonly indexers: readonly {
    readonly head: Pick<Head, 'newestBlock' | 'hasBlock' | 'refute'>;
    readonly route: { readonly isBackup: boolean; readonly health?: Pick<Health, 'isFailing'> | undefined };
  }[];
  /** Absent without two replicas: then nothing is doubtful. */
  readonly heads: Pick<Heads, 'lag'> | undefined;
  /** Pays for second tries at the only indexer, and for those after a failure while no other indexer is healthy. */
  readonly retries: Pick<RetryBudget, 'tryTake'>;
}

/**
 * Decides which requests are sent a second time, and where: `again` in {@link OUTCOMES} lists the failures after which
 * they are. With several indexers, another one gets the request
 *
 * - if the first one failed or could not get it after all,
 * - if its answer is less complete than the known one,
 * - if its answer is doubtful:
 *   - "Nothing there" (a 404, an empty list, another 4xx) about a masterchain block that the indexer itself reports, if
 *     another indexer has it too: a block that no indexer has is not requested twice. An empty page of a block's
 *     transactions does not count: the indexer looks for the block first, and answers 404 if it lacks the block.
 *   - "Nothing there" about anything else, if the indexer's head is older than the newest.
 *   - Pending traces that are all final, if the indexer's head is older than the newest: once they are in the database,
 *     they are no longer pending. Traces that are not final come from the emulator, which is another process.
 */
export function secondTryWith({ indexers, heads, retries }: SecondTryDependencies) {
  const replicas = indexers.filter(({ route }) => !route.isBackup).map(({ head }) => head);

  function hasWhatAnotherHas(seqno: number, index: number): boolean {
    if (heads === undefined || replicas[index]?.hasBlock(seqno) !== true) return false;
    return replicas.some((head, other) => other !== index && head.hasBlock(seqno));
  }

  return {
    /** Judges an answer by its finality. `seqno`: the block that it is about; `index`: the indexer. */
    isDoubtful(finality: Finality | undefined, seqno: number | undefined, index: number): boolean {
      if (finality === undefined) return false;
      const { answerClass, ifBlockUnknown, endsOnceCommitted } = ROWS[finality.rule];
      const isAbsent = answerClass === 'absent';
      if (seqno !== undefined) return isAbsent && ifBlockUnknown === undefined && hasWhatAnotherHas(seqno, index);
      return (isAbsent || endsOnceCommitted === true) && (heads?.lag(index) ?? 0) > 0;
    },

    /**
     * The second try after the first one, whose request was sent to the indexer at `index`; `undefined` for no second
     * try. `isKnown`: there is an older answer to compare with. After an answer, the second try never waits: the answer
     * keeps its slot meanwhile.
     */
    after<Request extends SendRules>(
      first: Tried,
      request: Request,
      index: number,
      isKnown: boolean,
    ): Request | undefined {
      const { seqno } = request;
      const isFailure = 'code' in first;
      const when = OUTCOMES[isFailure ? outcomeOf(first) : 'answered'].again;
      if (indexers.length === 1)
        return when === 'anywhere' && retries.tryTake() ? { ...request, isSecondTry: true } : undefined;
      if (isFailure && when !== 'if doubtful') {
        if (when === 'nowhere') return undefined;
        const isAnotherWell = indexers.some(({ route }, other) => other !== index && route.health?.isFailing === false);
        return isAnotherWell || retries.tryTake() ? { ...request, isSecondTry: true, not: index } : undefined;
      }
      const isDoubtful = isFailure
        ? seqno !== undefined && hasWhatAnotherHas(seqno, index)
        : first.isDoubtful && (first.isRegressed || !isKnown || !first.isAbsent);
      // At an indexer that has the block, or the newest head.
      if (isDoubtful)
        return {
          ...besides(request, index),
          seqno: seqno ?? Math.max(...replicas.map(({ newestBlock }) => newestBlock)),
        };
      return !isFailure && first.isRegressed ? besides(request, index) : undefined;
    },

    /**
     * Compares the results of a request, which the indexer at `index` got, and of its second try: that indexer may lack a
     * block that the other one has.
     */
    compare(
      [first, { seqno }]: readonly [Tried, SendRules],
      [second, { isExtra }]: readonly [TriedAnswer, SendRules],
      index: number,
    ): void {
      const hadNothing = 'code' in first || (first.isDoubtful && first.isAbsent);
      if (isExtra === true && seqno !== undefined && hadNothing && !second.isAbsent) replicas[index]?.refute(seqno);
    },
  };
}

/** A request in addition to one: an indexer other than the one at this place gets it, immediately or not at all. */
export function besides<Request extends SendRules>(request: Request, index: number): Request {
  return { ...request, waits: false, not: index, isExtra: true };
}
