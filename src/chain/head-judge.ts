import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';

/**
 * No chain makes blocks faster (2.5 a second now), and a difference of this many more means nothing: times are whole
 * seconds, and not all of them are of the newest block.
 */
const [MOST_BLOCKS_PER_MS, GRANTED_BLOCKS] = [0.01, 1000];

/** This many answers in a row that agree on a jump are right: the head before them was too low. */
const ANSWERS_OF_A_JUMP = 3;

/** The largest difference in blocks between two heads of one chain whose times differ by this. */
export function mostBlocksIn(ms: Ms): number {
  return GRANTED_BLOCKS + MOST_BLOCKS_PER_MS * Math.max(0, ms);
}

/** Why a head is refused: its chain cannot have reached it yet, or it is of another chain. */
export type HeadRefusal = 'jump' | 'other-chain';

export interface HeadJudgeDependencies {
  /** True if this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  readonly now: () => EpochMs;
}

/** A head, and the time at which it was named. */
interface NamedHead extends ChainPoint {
  readonly namedAt: EpochMs;
}

/**
 * Judges each head that one indexer names, in any request, by the last accepted head. It refuses a head
 *
 * - of another chain, always;
 * - with more blocks than the chain can have made since, by our clock or by the times of the two blocks: an indexer
 *   that catches up commits many blocks at once. The third answer in a row that names about the same head is accepted.
 *
 * The first head is accepted without a comparison. If it was far too high, the true head is lower and is accepted. If
 * it was far too low, the true head is accepted at the third answer.
 */
export class HeadJudge {
  readonly #dependencies: HeadJudgeDependencies;
  #accepted: NamedHead | undefined;
  #jump: (NamedHead & { readonly answers: number }) | undefined;

  constructor(dependencies: HeadJudgeDependencies) {
    this.#dependencies = dependencies;
  }

  /** The seqno of the last accepted head; -1 while there is none. */
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

  /** True if the chain can have reached this point by now. Every point is possible while no head was accepted. */
  canBeAt({ at, seqno }: ChainPoint): boolean {
    const accepted = this.#accepted;
    if (accepted === undefined) return true;
    const now = this.#dependencies.now();
    const byBlocks = accepted.at > 0 ? Math.min(at, now) - accepted.at : 0;
    return seqno - accepted.seqno <= mostBlocksIn(Math.max(now - accepted.namedAt, byBlocks));
  }

  /** Call when the clock has jumped: then only the times of the blocks show how much time has passed. */
  forgetTimes(): void {
    const namedAt = this.#dependencies.now();
    if (this.#accepted !== undefined) this.#accepted = { ...this.#accepted, namedAt };
    if (this.#jump !== undefined) this.#jump = { ...this.#jump, namedAt };
  }
}
