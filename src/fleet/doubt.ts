import type { Lane } from '../admission/lane.ts';
import type { ProxyError } from '../errors.ts';
import type { Head } from '../indexer/head.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { Finality } from '../ton/finality.ts';
import { ROWS } from '../ton/lifetime-table.ts';
import type { Heads } from './heads.ts';
import { aboutBlock, besides } from './lanes.ts';

export interface DoubtDependencies {
  /** In the order of the routes of admission, backups last. */
  readonly indexers: readonly {
    readonly head: Pick<Head, 'newestBlock' | 'hasBlock' | 'refute'>;
    readonly route: { readonly isBackup: boolean };
  }[];
  /** Absent without two replicas: then nothing is doubtful. */
  readonly heads: Pick<Heads, 'lag'> | undefined;
}

/**
 * Decides which answers of one of several indexers are doubtful, because another indexer may know better:
 *
 * - "Nothing there" (a 404, an empty list, another 4xx) about a masterchain block that the indexer itself reports, if
 *   another indexer has it too: a block that no indexer has is not requested twice. An empty page of a block's
 *   transactions does not count: the indexer looks for the block first, and answers 404 if it lacks the block.
 * - "Nothing there" about anything else, if the indexer's head is older than the newest.
 * - Pending traces that are all final, if the indexer's head is older than the newest: once they are in the database,
 *   they are no longer pending. Traces that are not final come from the emulator, which is another process.
 */
export class Doubt {
  readonly #replicas: readonly DoubtDependencies['indexers'][number]['head'][];
  readonly #heads: Pick<Heads, 'lag'> | undefined;

  constructor({ indexers, heads }: DoubtDependencies) {
    this.#replicas = indexers.filter(({ route }) => !route.isBackup).map(({ head }) => head);
    this.#heads = heads;
  }

  /** Judges an answer by its finality. `seqno`: the block that it is about; `index`: the indexer. */
  isDoubtful(finality: Finality | undefined, seqno: number | undefined, index: number): boolean {
    if (finality === undefined) return false;
    const { answerClass, ifBlockUnknown, endsOnceCommitted } = ROWS[finality.rule];
    const isAbsent = answerClass === 'absent';
    if (seqno !== undefined) return isAbsent && ifBlockUnknown === undefined && this.#hasWhatAnotherHas(seqno, index);
    return (isAbsent || endsOnceCommitted === true) && (this.#heads?.lag(index) ?? 0) > 0;
  }

  /** Judges a failure, with the same parameters. */
  isDoubtfulFailure(error: ProxyError, seqno: number | undefined, index: number): boolean {
    return (
      seqno !== undefined && OUTCOMES[outcomeOf(error)].again === 'if doubtful' && this.#hasWhatAnotherHas(seqno, index)
    );
  }

  /**
   * The lane of the request for a better answer than this indexer's: to an indexer that has the block, or has the
   * newest head. There is an answer already, so the request does not wait in the backlog.
   */
  elsewhere(lane: Lane, index: number): Lane {
    const { seqno = Math.max(...this.#replicas.map(({ newestBlock }) => newestBlock)) } = lane.to;
    return aboutBlock(besides(lane, index), seqno);
  }

  /** Call when another indexer has the block that this one lacked. */
  refute(seqno: number, index: number): void {
    this.#replicas[index]?.refute(seqno);
  }

  #hasWhatAnotherHas(seqno: number, index: number): boolean {
    if (this.#heads === undefined || this.#replicas[index]?.hasBlock(seqno) !== true) return false;
    return this.#replicas.some((head, other) => other !== index && head.hasBlock(seqno));
  }
}
