import { ProxyError } from '../errors.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { type ChainHead, type ChainPoint, headIn } from '../ton/chain-point.ts';
import { BlockProof, blockQuestion, showsBlock } from './block-proof.ts';
import { type Fall, FallenHead } from './fallen-head.ts';
import { HeadJudge } from './head-judge.ts';
import type { UpstreamAnswer, UpstreamClient, UpstreamRequest } from './upstream-client.ts';

const HEAD_QUESTION: UpstreamRequest = { operation: 'masterchainInfo', query: [], headers: [], isForHead: true };

/** On a big database the question can take 40 s, and such questions must not pile up. */
const TIMEOUT_MS = 5000;

/** Replicas behind one address differ: for so long a point that was shown counts, whatever the head is said to be. */
export const SHOWN_HOLDS_MS = 60_000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS = 60 * 60_000;

/** At a start the named block is asked for again for so long, and as often: rounds become visible out of order. */
const [START_PROOF_MS, START_PROOF_EVERY_MS]: [Ms, Ms] = [3000, 500];

/** A question for the head that had no answer for so long counts as unanswered. */
const SILENT_AFTER_MS = 1000;

/** Blocks so far below the head, 40 s, are there if the indexer has them at all. */
const SETTLED_BLOCKS = 100;

/** What is wrong with what an indexer says of its chain: it lacks a block that it named, or follows another chain. */
export type HeadFault = 'lacks-block' | 'other-chain';

/** What the last answer to the question for the head showed. */
export interface LastWord {
  /** How old the newest block was then, by our clock: negative if it is ahead of it; `undefined` where it has no time. */
  readonly ageMs: Ms | undefined;
  /** For how long the newest block has been the same, as far as it was asked for. */
  readonly sameForMs: Ms;
}

export interface IndexerHeadDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  /** Takes the right to send one request beside the slots; `false` if none may be sent now. */
  readonly maySend: () => Promise<boolean>;
  /** Called with the time that a 429 asked for. */
  readonly onRateLimited: (retryAfterMs: Ms | undefined) => void;
  /** Whether this process follows the chain of this `global_id`. */
  readonly isOurChain: (globalId: number) => boolean;
  /** Called when what it says of its chain turns out to be wrong, or is right again (`undefined`). */
  readonly onFault: (fault: HeadFault | undefined) => void;
  /** Called when its head has fallen back, and when it is there again, or an hour is over (`undefined`). */
  readonly onFall: (fall: Fall | undefined) => void;
  /** The head is asked for at most as often as this. */
  readonly askEveryMs: () => Ms;
  readonly now: () => EpochMs;
}

/**
 * What one indexer says of its chain, and whether that is true.
 *
 * The newest block that it is known to have, and the chain time: the newest time that its chain has reached. The age of
 * transactions counts from it, because an indexer that catches up commits hour-old transactions now. If it is older than
 * the head, or unknown, lifetimes come out too short, but no answer is wrong. So nobody waits for it. Answers move both
 * forward. What nothing has shown for 60 s is forgotten: the indexer may have been set back to an older state.
 *
 * The blocks that it has are those from `first` to `last` by its newest word. Each 30 s that it is asked for its head it is
 * also asked for a block that it named 10 s before. While it lacks one, or follows another chain than this process, its
 * word does not count.
 */
export class IndexerHead {
  readonly #dependencies: IndexerHeadDependencies;
  readonly #proof = new BlockProof();
  readonly #judge: HeadJudge;
  readonly #fallen: FallenHead;
  #at = 0;
  /** When the indexer last showed a time that is not older than the known one. */
  #shownAt = Number.NEGATIVE_INFINITY;
  #seqno = -1;
  /** When it last showed a block that is not older than the known one. */
  #reachedAt = Number.NEGATIVE_INFINITY;
  /** When the highest known block became known. */
  #grewAt = Number.NEGATIVE_INFINITY;
  #word: (LastWord & { readonly at: EpochMs }) | undefined;
  #unansweredSince: EpochMs | undefined;
  #first = 0;
  #last = -1;
  #isOfOtherChain = false;
  #fault: HeadFault | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When an answer last showed the newest block, by the newest word or after it. */
  #newestShownAt: EpochMs;
  #isAsking = false;

  constructor(dependencies: IndexerHeadDependencies) {
    this.#dependencies = dependencies;
    this.#judge = new HeadJudge(dependencies);
    this.#fallen = new FallenHead(dependencies.now);
    this.#newestShownAt = dependencies.now();
  }

  /** The chain time, epoch milliseconds; `undefined` if nothing has shown it in the last 60 s. */
  get chainTime(): EpochMs | undefined {
    return this.#isTimeCurrent(this.#dependencies.now()) ? this.#at : undefined;
  }

  /** To be called when the chain time counts: asks for the head in the background, if it is time. */
  askIfDue(): void {
    const { now, askEveryMs } = this.#dependencies;
    if (now() - this.#askedAt >= askEveryMs()) void this.ask();
  }

  /**
   * To be called when a request is sent, where no other heads are compared with this one: asks for the head in the background
   * if it is time, and no answer has shown the newest block meanwhile.
   */
  pollIfDue(): void {
    if (this.#fallen.isLow || !this.#isNewestShown(this.#dependencies.now())) this.askIfDue();
  }

  /** The highest block that it is known to have; -1 while none is known. */
  get seqno(): number {
    return this.#seqno;
  }

  /** The newest block that it has by its newest word; -1 while that is unknown or does not count. */
  get newestBlock(): number {
    return this.#fault === undefined ? this.#last : -1;
  }

  /** What is wrong with what it says; `undefined` while nothing is known to be. */
  get fault(): HeadFault | undefined {
    return this.#fault;
  }

  /** For operators; `undefined` if it was not asked for its head in the last 60 s, or did not answer. */
  get lastWord(): LastWord | undefined {
    return this.#word !== undefined && this.#dependencies.now() - this.#word.at <= SHOWN_HOLDS_MS
      ? this.#word
      : undefined;
  }

  /** Whether the questions for its head fail, or have had no answer for a second. */
  get isSilent(): boolean {
    const since = this.#unansweredSince;
    return since !== undefined && this.#dependencies.now() - since > SILENT_AFTER_MS;
  }

  /** From which block its head has fallen back, and to which; `undefined` while it has not. */
  get fall(): Fall | undefined {
    return this.#fallen.fall;
  }

  /** The oldest block that it has by its newest word; `undefined` where it does not say, or its word does not count. */
  get oldestBlock(): number | undefined {
    return this.#fault === undefined && this.#first > 0 ? this.#first : undefined;
  }

  /** Whether it has a masterchain block by its own word. */
  hasBlock(seqno: number): boolean {
    return this.#first <= seqno && seqno <= this.newestBlock;
  }

  /** Whether it has shown in the last 60 s that its chain has reached a masterchain block. */
  hasReached(seqno: number): boolean {
    return seqno <= this.#seqno && this.#isSeqnoCurrent(this.#dependencies.now());
  }

  /**
   * Asks for the head now, and in the background for a block that it named before if it is time. Resolves with what it
   * says; `undefined` if there was no answer, it is of another chain, or an older question has no answer yet. Never
   * rejects.
   */
  async ask(): Promise<ChainHead | undefined> {
    if (this.#isAsking) return undefined;
    this.#isAsking = true;
    const head = await this.#askForHead();
    const named = head && this.#proof.named(head.seqno, this.#dependencies.now());
    if (named === undefined) this.#isAsking = false;
    else void this.#askForNamed(named);
    return head;
  }

  /** Asks for the head and, for up to 3 s, for the block that it names. For the start. Never rejects. */
  async prove(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const head = await this.#askForHead();
    if (head !== undefined) {
      let isThere = await this.#askFor(head.seqno);
      for (
        let remainingMs = START_PROOF_MS;
        isThere === false && remainingMs > 0;
        remainingMs -= START_PROOF_EVERY_MS
      ) {
        await new Promise((resolve) => setTimeout(resolve, START_PROOF_EVERY_MS).unref());
        isThere = await this.#askFor(head.seqno);
      }
      this.#endProof(isThere);
    }
    this.#isAsking = false;
  }

  /** The head that was accepted last, by its seqno; -1 while none was. */
  get acceptedSeqno(): number {
    return this.#judge.seqno;
  }

  /** Whether its chain can have got to this point by now, by the head that it named last. */
  canBeAt(point: ChainPoint): boolean {
    return this.#judge.canBeAt(point);
  }

  /** Learns the point that an answer shows; most are about old blocks. Nothing of one that its chain cannot have reached. */
  learn(point: ChainPoint): void {
    if (this.canBeAt(point)) this.#learn(point);
  }

  /** `isPolled`: it was asked for its head for its own sake, and this is its word. */
  #learn({ at, seqno }: ChainPoint, isPolled = false): void {
    if (this.#isOfOtherChain) return;
    const now = this.#dependencies.now();
    if (at > 0 && at <= now + FURTHEST_AHEAD_MS && (at >= this.#at || !this.#isTimeCurrent(now))) {
      this.#at = at;
      this.#shownAt = now;
    }
    if (seqno < 0) return;
    if (seqno >= this.#seqno || (isPolled && !this.#isSeqnoCurrent(now))) {
      if (seqno !== this.#seqno) this.#grewAt = now;
      this.#seqno = seqno;
      this.#reachedAt = now;
    }
    if (!isPolled && seqno > this.#last && this.#word !== undefined && this.#isNewestShown(now)) this.#shows(at);
    if (!isPolled && seqno > this.#last) this.#fallen.shown(seqno);
    if (isPolled || seqno > this.#last) this.#last = seqno;
  }

  /**
   * Learns what an answer to `masterchainInfo` says, whoever has asked for it: it counts as a head poll. Returns the head;
   * `undefined` if it names none, or one that cannot be the head of our chain ({@link HeadJudge}): then nothing is learned,
   * and nobody may be told of it.
   */
  hear(head: ChainHead): ChainHead | undefined {
    const { now } = this.#dependencies;
    const refusal = this.#judge.refusalOf(head);
    // One that its chain cannot have reached is as good as none.
    if (head.seqno >= 0 && refusal !== 'jump') this.#unansweredSince = undefined;
    if (head.globalId !== undefined) this.#isOfOtherChain = refusal === 'other-chain';
    this.#sayFault();
    if (refusal !== undefined) return undefined;
    this.#learn(head, true);
    if (this.#isOfOtherChain || head.seqno < 0) return undefined;
    this.#askedAt = now();
    this.#shows(head.at);
    this.#compare(head.seqno);
    this.#first = head.first;
    // A time from the future is garbage here too: heads are compared by it.
    return head.at <= now() + FURTHEST_AHEAD_MS ? head : { ...head, at: 0 };
  }

  /** To be called when it had nothing of a block that it has by its own word, and another indexer has it. */
  refute(seqno: number): void {
    if (seqno <= this.newestBlock - SETTLED_BLOCKS) this.#endProof(false);
  }

  /** To be called when the clock has jumped: then no instant before it means anything. */
  forget(): void {
    this.#at = 0;
    this.#shownAt = Number.NEGATIVE_INFINITY;
    this.#reachedAt = Number.NEGATIVE_INFINITY;
    this.#askedAt = Number.NEGATIVE_INFINITY;
    this.#newestShownAt = Number.NEGATIVE_INFINITY;
    this.#grewAt = this.#dependencies.now();
    this.#word = undefined;
    this.#unansweredSince = undefined;
    this.#proof.forget();
    this.#judge.forgetTimes();
    this.#fallen.forget();
  }

  async #askForHead(): Promise<ChainHead | undefined> {
    const { now, maySend } = this.#dependencies;
    this.#askedAt = now();
    if (!(await maySend())) return undefined;
    const unansweredSince = this.#unansweredSince;
    this.#unansweredSince ??= now();
    const answer = await this.#send(HEAD_QUESTION);
    if (answer === 'not sent') this.#unansweredSince = unansweredSince;
    if (answer === 'not sent' || answer?.status !== 200) return undefined;
    return this.hear(headIn(answer.body));
  }

  #compare(seqno: number): void {
    const had = this.#fallen.fall;
    this.#fallen.named(seqno);
    const { fall } = this.#fallen;
    if ((had === undefined) !== (fall === undefined)) this.#dependencies.onFall(fall);
  }

  /** An answer has shown the newest block, which is from `blockAt` (0 where that is not known). */
  #shows(blockAt: EpochMs): void {
    const at = this.#dependencies.now();
    this.#newestShownAt = at;
    this.#word = { at, ageMs: blockAt > 0 ? at - blockAt : undefined, sameForMs: at - this.#grewAt };
  }

  /** Whether it has a block; `undefined` if that did not come out. */
  async #askFor(seqno: number): Promise<boolean | undefined> {
    const answer = await this.#fetch(blockQuestion(seqno));
    return answer && showsBlock(answer, seqno);
  }

  async #askForNamed(seqno: number): Promise<void> {
    this.#endProof(await this.#askFor(seqno));
    this.#isAsking = false;
  }

  #endProof(isThere: boolean | undefined): void {
    this.#proof.ended(isThere, this.#dependencies.now());
    this.#sayFault();
  }

  #sayFault(): void {
    const fault = this.#isOfOtherChain ? 'other-chain' : this.#proof.isMissing ? 'lacks-block' : undefined;
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#dependencies.onFault(fault);
  }

  /** One question beside the slots; `undefined` if it may not be sent now, or there is no answer. Never rejects. */
  async #fetch(question: UpstreamRequest): Promise<UpstreamAnswer | undefined> {
    const answer = (await this.#dependencies.maySend()) ? await this.#send(question) : undefined;
    return answer === 'not sent' ? undefined : answer;
  }

  /** `undefined` if there is no answer; `not sent` if this machine lacks what it takes to send it. Never rejects. */
  async #send(question: UpstreamRequest): Promise<UpstreamAnswer | 'not sent' | undefined> {
    const { upstream, onRateLimited } = this.#dependencies;
    try {
      const answer = await upstream.fetch(question, TIMEOUT_MS);
      if (answer.status === 429) onRateLimited(answer.retryAfterMs);
      return answer;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      return error.code === 'overloaded' ? 'not sent' : undefined;
    }
  }

  #isNewestShown(now: EpochMs): boolean {
    return now - this.#newestShownAt < this.#dependencies.askEveryMs();
  }

  #isTimeCurrent(now: EpochMs): boolean {
    return now - this.#shownAt <= SHOWN_HOLDS_MS;
  }

  #isSeqnoCurrent(now: EpochMs): boolean {
    return now - this.#reachedAt <= SHOWN_HOLDS_MS;
  }
}
