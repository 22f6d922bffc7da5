import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';
import { FallenHead } from './fallen-head.ts';
import { HeadPoll, type HeadPollDependencies } from './head-poll.ts';
import { type LastWord, ShownChain } from './shown-chain.ts';

/** A named block is requested again for this long, and this often: rounds become visible out of order. */
const [CHECK_MS, CHECK_EVERY_MS]: [Ms, Ms] = [3000, 500];

/** Blocks this far below the head (40 s) are there if the indexer has them at all. */
const SETTLED_BLOCKS = 100;

/** Why the head of an indexer does not count: it follows another chain, or lacks a block that it named. */
export type HeadFault = 'lacks-block' | 'other-chain';

export interface IndexerHeadDependencies extends HeadPollDependencies {
  /** True if this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  /** Called when its head no longer counts, or counts again (`undefined`). `why`: the other chain, or the missing block. */
  readonly onFault: (fault: HeadFault | undefined, why: string) => void;
  /** The shortest time between two head polls. */
  readonly askEveryMs: () => Ms;
}

/**
 * The known chain of one indexer ({@link ShownChain}), believed except for two faults. An indexer that follows another
 * chain than this process gets no requests but its head poll. The head of one that lacks a block that it named does
 * not count. Both are polled every `askEveryMs`, so that they are used again once they are repaired.
 *
 * The age of transactions counts from the chain time, because an indexer that catches up commits hour-old transactions
 * now. If that time is older than the head, or unknown, lifetimes are too short, but no answer is wrong: nobody waits
 * for it.
 */
export class IndexerHead {
  readonly #dependencies: IndexerHeadDependencies;
  readonly #shown: ShownChain;
  readonly #poll: HeadPoll;
  readonly #fallen: FallenHead;
  #chain: 'unknown' | 'ours' | 'other' = 'unknown';
  #globalId: number | undefined;
  /** The block that it named and lacks. */
  #lackedBlock: number | undefined;
  #fault: HeadFault | undefined;
  #isAsking = false;

  constructor(dependencies: IndexerHeadDependencies) {
    this.#dependencies = dependencies;
    this.#shown = new ShownChain(dependencies.now);
    this.#poll = new HeadPoll(dependencies);
    this.#fallen = new FallenHead(dependencies.now);
  }

  /** The chain time, epoch milliseconds; `undefined` if no answer has shown it in the last 60 s. */
  get chainTime(): EpochMs | undefined {
    return this.#shown.time;
  }

  /** The highest block that it is known to have; -1 while none is known. */
  get seqno(): number {
    return this.#shown.seqno;
  }

  /** The newest block by its last head; -1 while that is unknown or does not count. */
  get newestBlock(): number {
    return this.#fault === undefined ? this.#shown.last : -1;
  }

  /** The oldest block by its last head; `undefined` if it does not name one, or its head does not count. */
  get oldestBlock(): number | undefined {
    return this.#fault === undefined && this.#shown.first > 0 ? this.#shown.first : undefined;
  }

  /** True if it reports that it has a masterchain block. */
  hasBlock(seqno: number): boolean {
    return this.#shown.first <= seqno && seqno <= this.newestBlock;
  }

  /** True if it has shown in the last 60 s that its chain has reached a masterchain block. */
  hasReached(seqno: number): boolean {
    return this.#shown.hasReached(seqno);
  }

  /** True once a head has shown that it follows our chain: until then no other instance gets its answers. */
  get isOfOurChain(): boolean {
    return this.#chain === 'ours';
  }

  /** The reason why its head does not count; `undefined` while it counts. */
  get fault(): HeadFault | undefined {
    return this.#fault;
  }

  /** See {@link FallenHead.blocks}. */
  get fallenBlocks(): number {
    return this.#fallen.blocks;
  }

  /** For operators; `undefined` if no answer has shown the newest block in the last 60 s. */
  get lastWord(): LastWord | undefined {
    return this.#shown.lastWord;
  }

  /** True if head polls fail, or the last one has had no answer for a second. */
  get isUnresponsive(): boolean {
    return this.#poll.isUnresponsive;
  }

  /** Call when the chain time matters: polls the head in the background, if it is time. */
  askIfDue(): void {
    if (this.#poll.isDue(this.#dependencies.askEveryMs())) void this.ask();
  }

  /**
   * Call when a request is sent, if no other heads are compared with this one: polls the head in the background if it
   * is time. Does not poll if an answer has shown the newest block in the meantime, unless the head is too
   * low or does not count.
   */
  pollIfDue(): void {
    if (this.#fault !== undefined || this.#fallen.isLow || !this.#shown.isNewestShown(this.#dependencies.askEveryMs()))
      this.askIfDue();
  }

  /**
   * Polls the head now; while it does not count, only if it is time. If it lacked a block, the one that it named before
   * is requested in the background. Resolves with the head; `undefined` without an answer, if its indexer follows
   * another chain, or while an older poll has no answer. Never rejects.
   */
  async ask(): Promise<ChainHead | undefined> {
    const isAtRest = this.#fault !== undefined && !this.#poll.isDue(this.#dependencies.askEveryMs());
    if (this.#isAsking || isAtRest) return undefined;
    this.#isAsking = true;
    const named = this.#shown.last;
    const head = await this.#askForHead();
    if (head !== undefined && this.#lackedBlock !== undefined) void this.#askForBlock(Math.min(named, head.seqno), 0);
    else this.#isAsking = false;
    return head;
  }

  /**
   * Requests the block that it names as its newest, for up to 3 s. For the start. `atMostMs`: the timeout of the head
   * poll. Never rejects.
   */
  async check(atMostMs?: Ms): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const seqno = this.newestBlock >= 0 ? this.newestBlock : (await this.#askForHead(atMostMs))?.seqno;
    if (seqno === undefined) this.#isAsking = false;
    else await this.#askForBlock(seqno, CHECK_MS);
  }

  /** Learns the point in an answer; most are about old blocks. */
  learn(point: ChainPoint): void {
    if (this.#shown.show(point, this.#dependencies.askEveryMs())) this.#fallen.shown(point.seqno);
  }

  /**
   * Learns the head in an answer to `masterchainInfo`, of any request: it counts as a head poll. Returns the head;
   * `undefined` if the answer names none, or one of another chain: then no client may get it.
   */
  hear(head: ChainHead): ChainHead | undefined {
    if (head.seqno < 0) return undefined;
    this.#poll.answered();
    const { globalId } = head;
    this.#globalId = globalId;
    // An API that names no chain is believed.
    if (globalId !== undefined) this.#chain = this.#dependencies.isOurChain(globalId) ? 'ours' : 'other';
    else if (this.#chain === 'unknown') this.#chain = 'ours';
    this.#reportFault();
    if (this.#chain === 'other') return undefined;
    this.#shown.name(head);
    this.#poll.accepted();
    this.#fallen.named(head.seqno);
    return head;
  }

  /** Call when it lacked a block that it reports to have, and another indexer has the block. */
  refute(seqno: number): void {
    if (seqno <= this.newestBlock - SETTLED_BLOCKS) this.#checked(seqno, false);
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#shown.forget();
    this.#poll.forget();
    this.#fallen.forget();
  }

  async #askForHead(atMostMs?: Ms): Promise<ChainHead | undefined> {
    const head = await this.#poll.head(atMostMs);
    return head && this.hear(head);
  }

  async #askForBlock(seqno: number, forMs: Ms): Promise<void> {
    let isThere = await this.#poll.hasBlock(seqno);
    for (let remainingMs = forMs; isThere === false && remainingMs > 0; remainingMs -= CHECK_EVERY_MS) {
      await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS).unref());
      isThere = await this.#poll.hasBlock(seqno);
    }
    if (isThere !== undefined) this.#checked(seqno, isThere);
    this.#isAsking = false;
  }

  #checked(seqno: number, isThere: boolean): void {
    this.#lackedBlock = isThere ? undefined : seqno;
    this.#reportFault();
  }

  #reportFault(): void {
    const fault = this.#chain === 'other' ? 'other-chain' : this.#lackedBlock === undefined ? undefined : 'lacks-block';
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#dependencies.onFault(
      fault,
      fault === 'other-chain' ? `global_id ${this.#globalId}` : `block ${this.#lackedBlock}`,
    );
  }
}
