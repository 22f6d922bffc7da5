import type { EpochMs, Ms } from '../time-units.ts';
import type { ChainHead, ChainPoint } from '../ton/chain-point.ts';
import { FallenHead } from './fallen-head.ts';
import { HeadCheck } from './head-check.ts';
import { HeadJudge } from './head-judge.ts';
import { HeadPoll, type HeadPollDependencies } from './head-poll.ts';
import { isPlausible, type LastWord, ShownChain } from './shown-chain.ts';

/** At a start the named block is requested again for this long, and this often: rounds become visible out of order. */
const [START_CHECK_MS, START_CHECK_EVERY_MS]: [Ms, Ms] = [3000, 500];

/** Blocks this far below the head (40 s) are there if the indexer has them at all. */
const SETTLED_BLOCKS = 100;

/** Why the head of an indexer does not count: it lacks a block that it named, or follows another chain. */
export type HeadFault = 'lacks-block' | 'other-chain';

export interface IndexerHeadDependencies extends HeadPollDependencies {
  /** True if this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  /** Called when its head fails the check, or passes again (`undefined`). */
  readonly onFault: (fault: HeadFault | undefined) => void;
  /** The shortest time between two head polls. */
  readonly askEveryMs: () => Ms;
}

/**
 * The known chain of one indexer ({@link ShownChain}), and whether it is true. It refuses impossible heads ({@link
 * HeadJudge}) and detects heads that fall back ({@link FallenHead}). Every 30 s with head polls it also requests a
 * block that the indexer named before ({@link HeadCheck}). While the indexer lacks one, or follows another chain than
 * this process, its head does not count.
 *
 * The age of transactions counts from the chain time, because an indexer that catches up commits hour-old transactions
 * now. If that time is older than the head, or unknown, lifetimes are too short, but no answer is wrong: nobody waits
 * for it.
 */
export class IndexerHead {
  readonly #dependencies: IndexerHeadDependencies;
  readonly #shown: ShownChain;
  readonly #poll: HeadPoll;
  readonly #check = new HeadCheck();
  readonly #judge: HeadJudge;
  readonly #fallen: FallenHead;
  #isOfOtherChain = false;
  #fault: HeadFault | undefined;
  #isAsking = false;

  constructor(dependencies: IndexerHeadDependencies) {
    this.#dependencies = dependencies;
    this.#shown = new ShownChain(dependencies.now);
    this.#poll = new HeadPoll(dependencies);
    this.#judge = new HeadJudge(dependencies);
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
   * low.
   */
  pollIfDue(): void {
    if (this.#fallen.isLow || !this.#shown.isNewestShown(this.#dependencies.askEveryMs())) this.askIfDue();
  }

  /**
   * Polls the head now and, if it is time, requests an earlier named block in the background. Resolves with the head;
   * `undefined` without an answer, if it was refused, or while an older poll or request for a block has no answer.
   * Never rejects.
   */
  async ask(): Promise<ChainHead | undefined> {
    if (this.#isAsking) return undefined;
    this.#isAsking = true;
    const head = await this.#askForHead();
    const named = head && this.#check.named(head.seqno, this.#dependencies.now());
    if (named === undefined) this.#isAsking = false;
    else void this.#askForNamed(named);
    return head;
  }

  /** Polls the head and, for up to 3 s, requests the block that it names. For the start. Never rejects. */
  async check(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const head = await this.#askForHead();
    if (head !== undefined) {
      let isThere = await this.#poll.hasBlock(head.seqno);
      for (
        let remainingMs = START_CHECK_MS;
        isThere === false && remainingMs > 0;
        remainingMs -= START_CHECK_EVERY_MS
      ) {
        await new Promise((resolve) => setTimeout(resolve, START_CHECK_EVERY_MS).unref());
        isThere = await this.#poll.hasBlock(head.seqno);
      }
      this.#endCheck(isThere);
    }
    this.#isAsking = false;
  }

  /** The seqno of the last accepted head; -1 while there is none. */
  get acceptedSeqno(): number {
    return this.#judge.seqno;
  }

  /** True if its chain can have reached this point by now, judged by its last head. */
  canBeAt(point: ChainPoint): boolean {
    return this.#judge.canBeAt(point);
  }

  /** Learns the point in an answer; most are about old blocks. Ignores a point that its chain cannot have reached. */
  learn(point: ChainPoint): void {
    if (this.#isOfOtherChain || !this.canBeAt(point)) return;
    if (this.#shown.show(point, this.#dependencies.askEveryMs())) this.#fallen.shown(point.seqno);
  }

  /**
   * Learns the head in an answer to `masterchainInfo`, of any request: it counts as a head poll. Returns the head;
   * `undefined` if the answer names none, or one that cannot be the head of our chain ({@link HeadJudge}): then nothing
   * is learned, and no client may get it.
   */
  hear(head: ChainHead): ChainHead | undefined {
    const refusal = this.#judge.refusalOf(head);
    // A head that its chain cannot have reached counts as no answer.
    if (head.seqno >= 0 && refusal !== 'jump') this.#poll.answered();
    if (head.globalId !== undefined) this.#isOfOtherChain = refusal === 'other-chain';
    this.#reportFault();
    if (refusal !== undefined || this.#isOfOtherChain) return undefined;
    this.#shown.name(head);
    if (head.seqno < 0) return undefined;
    this.#poll.accepted();
    this.#fallen.named(head.seqno);
    // A time in the future is garbage here too: heads are compared by it.
    return isPlausible(head.at, this.#dependencies.now()) ? head : { ...head, at: 0 };
  }

  /** Call when it lacked a block that it reports to have, and another indexer has the block. */
  refute(seqno: number): void {
    if (seqno <= this.newestBlock - SETTLED_BLOCKS) this.#endCheck(false);
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#shown.forget();
    this.#poll.forget();
    this.#check.forget();
    this.#judge.forgetTimes();
    this.#fallen.forget();
  }

  async #askForHead(): Promise<ChainHead | undefined> {
    const head = await this.#poll.head();
    return head && this.hear(head);
  }

  async #askForNamed(seqno: number): Promise<void> {
    this.#endCheck(await this.#poll.hasBlock(seqno));
    this.#isAsking = false;
  }

  #endCheck(isThere: boolean | undefined): void {
    this.#check.ended(isThere, this.#dependencies.now());
    this.#reportFault();
  }

  #reportFault(): void {
    const fault = this.#isOfOtherChain ? 'other-chain' : this.#check.isMissing ? 'lacks-block' : undefined;
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#dependencies.onFault(fault);
  }
}
