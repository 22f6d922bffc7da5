import type { Lane } from '../admission/lane.ts';
import type { IndexerHead } from '../chain/indexer-head.ts';
import type { ProxyError } from '../errors.ts';
import { OUTCOMES, outcomeOf } from '../outcomes.ts';
import type { Finality } from '../ton/finality.ts';
import type { Heads } from './heads.ts';
import { aboutBlock, besides } from './lanes.ts';

export interface DoubtDependencies {
  /** In the order of the routes of admission, backups last. */
  readonly indexers: readonly {
    readonly head: Pick<IndexerHead, 'newestBlock' | 'hasBlock' | 'refute'>;
    readonly route: { readonly isBackup: boolean };
  }[];
  /** Absent where there are no two replicas: then nothing is doubtful. */
  readonly heads: Pick<Heads, 'lag'> | undefined;
}

/**
 * Which answers of one of several indexers are doubtful, because another one may know better:
 *
 * - that there is nothing (a 404, an empty list, another 4xx) of a masterchain block that it has by its own word, if another
 *   one has it too: what nobody has is not asked for twice. An empty page of a block's transactions is no such answer: the
 *   indexer looks for the block first, and says 404 of one that it lacks;
 * - that there is nothing of anything else, if its head is older than the newest;
 * - pending traces that are all final, if its head is older than the newest: where they are in the database, they are
 *   pending no more. Traces that are not final come from the emulator, which is another process.
 */
export class Doubt {
  readonly #replicas: readonly DoubtDependencies['indexers'][number]['head'][];
  readonly #heads: Pick<Heads, 'lag'> | undefined;

  constructor({ indexers, heads }: DoubtDependencies) {
    this.#replicas = indexers.filter(({ route }) => !route.isBackup).map(({ head }) => head);
    this.#heads = heads;
  }

  /** Of an answer, by what it says. `seqno`: of the block that it is about; `index`: of the indexer. */
  isDoubtful(finality: Finality | undefined, seqno: number | undefined, index: number): boolean {
    const isAbsent = finality?.answerClass === 'absent';
    if (seqno !== undefined) {
      return isAbsent && finality?.rule !== 'emptyOfBlock' && this.#hasWhatAnotherHas(seqno, index);
    }
    return (isAbsent || finality?.rule === 'pendingFinalized') && (this.#heads?.lag(index) ?? 0) > 0;
  }

  /** Of a failure. */
  isDoubtfulFailure(error: ProxyError, seqno: number | undefined, index: number): boolean {
    return (
      seqno !== undefined && OUTCOMES[outcomeOf(error)].again === 'if doubtful' && this.#hasWhatAnotherHas(seqno, index)
    );
  }

  /**
   * The lane of the request for a better answer than this indexer's: to one that has the block, or is the newest. There is an
   * answer, so nobody waits for it in the backlog.
   */
  elsewhere(lane: Lane, index: number): Lane {
    const { seqno = Math.max(...this.#replicas.map(({ newestBlock }) => newestBlock)) } = lane.to;
    return aboutBlock(besides(lane, index), seqno);
  }

  /** To be called when another indexer has the block of which this one had nothing. */
  refute(seqno: number, index: number): void {
    this.#replicas[index]?.refute(seqno);
  }

  #hasWhatAnotherHas(seqno: number, index: number): boolean {
    if (this.#heads === undefined || this.#replicas[index]?.hasBlock(seqno) !== true) return false;
    return this.#replicas.some((head, other) => other !== index && head.hasBlock(seqno));
  }
}
