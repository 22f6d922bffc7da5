import type { EpochMs } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { IndexerHead } from './indexer-head.ts';
import { SHOWN_HOLDS_MS } from './shown-chain.ts';

export interface KnownChainDependencies {
  /** Of all indexers of this instance. */
  readonly heads: readonly Pick<IndexerHead, 'hasReached' | 'acceptedSeqno' | 'canBeAt'>[];
  readonly chain: Pick<FollowedChain, 'isOther'>;
  readonly now: () => EpochMs;
}

/**
 * How far this instance knows that its chain has got: from its indexers, and from entries of other instances. The
 * entries do not show where an indexer of this instance is, so they are not part of any {@link IndexerHead}.
 */
export class KnownChain {
  readonly #dependencies: KnownChainDependencies;
  #seqno = -1;
  /** When an entry last showed this block or a newer one. */
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: KnownChainDependencies) {
    this.#dependencies = dependencies;
  }

  /** True if an answer or entry has shown in the last 60 s that the chain has reached a masterchain block. */
  hasReached(seqno: number): boolean {
    if (seqno <= this.#seqno && this.#dependencies.now() - this.#shownAt <= SHOWN_HOLDS_MS) return true;
    return this.#dependencies.heads.some((head) => head.hasReached(seqno));
  }

  /**
   * True if a head that another instance stored may be served. It may not if it is of another chain, or if the chain
   * cannot have reached it, judged by the newest head of all indexers of this instance. While no head is known, it may.
   */
  accepts(head: ChainHead): boolean {
    return this.#newest() === undefined || (!this.#dependencies.chain.isOther(head.globalId) && this.#canBeAt(head));
  }

  /**
   * Learns the point in an entry of another instance, if the chain can be there, judged by the heads of our indexers.
   */
  learn(point: ChainPoint): void {
    const { now } = this.#dependencies;
    const isKnown = now() - this.#shownAt <= SHOWN_HOLDS_MS;
    if ((isKnown && point.seqno < this.#seqno) || this.#newest() === undefined || !this.#canBeAt(point)) return;
    this.#seqno = point.seqno;
    this.#shownAt = now();
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#shownAt = Number.NEGATIVE_INFINITY;
  }

  #canBeAt(point: ChainPoint): boolean {
    return this.#newest()?.canBeAt(point) === true;
  }

  /** The newest head of all indexers; `undefined` while none has named one. */
  #newest() {
    const known = this.#dependencies.heads.filter(({ acceptedSeqno }) => acceptedSeqno >= 0);
    return known.length === 0
      ? undefined
      : known.reduce((one, other) => (other.acceptedSeqno > one.acceptedSeqno ? other : one));
  }
}
