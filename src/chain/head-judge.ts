import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';

/**
 * No chain makes blocks faster (a second has 2.5 now), and so many blocks more mean nothing: times are whole seconds, and
 * not all are of the newest block.
 */
const [MOST_BLOCKS_PER_MS, GRANTED_BLOCKS] = [0.01, 1000];

/** So many answers in a row that agree on a jump are right: the head before them was too low. */
const ANSWERS_OF_A_JUMP = 3;

/** The most blocks by which two heads of one chain can differ whose times differ by this. */
export function mostBlocksIn(ms: Ms): number {
  return GRANTED_BLOCKS + MOST_BLOCKS_PER_MS * Math.max(0, ms);
}

/** Why a head is refused: its chain cannot have reached it yet, or is another one. */
export type HeadRefusal = 'jump' | 'other-chain';

export interface HeadJudgeDependencies {
  /** Whether this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  readonly now: () => EpochMs;
}

/** A head, and when it was named. */
interface NamedHead extends ChainPoint {
  readonly namedAt: EpochMs;
}

/**
 * Judges each head that one indexer names, whoever asked for it, by the one that was accepted last. A head is refused that
 *
 * - is of another chain, always;
 * - has more blocks than the chain can have made since, by our clock or by the times of the two blocks: an indexer that
 *   catches up commits many blocks at once. It is accepted at the third answer in a row that names about the same.
 *
 * The first head has nothing to be judged by. If it was far too high, the true one is lower, which is no reason to refuse
 * it; if it was far too low, the true one is accepted at the third answer.
 */
export class HeadJudge {
  readonly #dependencies: HeadJudgeDependencies;
  #accepted: NamedHead | undefined;
  #jump: (NamedHead & { readonly answers: number }) | undefined;

  constructor(dependencies: HeadJudgeDependencies) {
    this.#dependencies = dependencies;
  }

  /** The seqno of the head that was accepted last; -1 while none was. */
  get seqno(): number {
    return this.#accepted?.seqno ?? -1;
  }

  /** Why a head that was named now is refused; `undefined` if it is accepted, or names no block. */
  refusalOf(head: ChainHead): HeadRefusal | undefined {
    const { isOurChain, now } = this.#dependencies;
    if (head.globalId !== undefined && !isOurChain(head.globalId)) return 'other-chain';
    if (head.seqno < 0) return undefined;
    const named = { at: head.at, seqno: head.seqno, namedAt: now() };
    if (!this.canBeAt(head)) {
      const jump = this.#jump;
      const isSame =
        jump !== undefined && Math.abs(head.seqno - jump.seqno) <= mostBlocksIn(named.namedAt - jump.namedAt);
      const answers = isSame ? jump.answers + 1 : 1;
      this.#jump = { ...named, answers };
      if (answers < ANSWERS_OF_A_JUMP) return 'jump';
    }
    this.#accepted = named;
    this.#jump = undefined;
    return undefined;
  }

  /** Whether the chain can have got to this point by now. Anything can be while no head was accepted. */
  canBeAt({ at, seqno }: ChainPoint): boolean {
    const accepted = this.#accepted;
    if (accepted === undefined) return true;
    const now = this.#dependencies.now();
    const byBlocks = accepted.at > 0 ? Math.min(at, now) - accepted.at : 0;
    return seqno - accepted.seqno <= mostBlocksIn(Math.max(now - accepted.namedAt, byBlocks));
  }

  /** To be called when the clock has jumped: then the times of the blocks alone tell how much has passed. */
  forgetTimes(): void {
    const namedAt = this.#dependencies.now();
    if (this.#accepted !== undefined) this.#accepted = { ...this.#accepted, namedAt };
    if (this.#jump !== undefined) this.#jump = { ...this.#jump, namedAt };
  }
}
