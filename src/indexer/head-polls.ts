import type { Ms } from '../time-units.ts';
import type { ChainHead } from '../ton/chain-point.ts';
import type { Head } from './head.ts';
import { HeadPoll, type HeadPollDependencies } from './head-poll.ts';

/** A named block is requested again for this long, and this often: rounds become visible out of order. */
const [CHECK_MS, CHECK_EVERY_MS]: [Ms, Ms] = [3000, 500];

export interface HeadPollsDependencies extends HeadPollDependencies {
  readonly head: Head;
  /** The shortest time between two head polls. */
  readonly askEveryMs: () => Ms;
}

/**
 * Keeps the {@link Head} of one indexer current: polls it while requests are sent. A head that does not count is polled
 * every `askEveryMs`, so that its indexer is used again once it is repaired.
 */
export class HeadPolls {
  readonly #head: Head;
  readonly #poll: HeadPoll;
  readonly #askEveryMs: () => Ms;
  #isAsking = false;

  constructor({ head, askEveryMs, ...dependencies }: HeadPollsDependencies) {
    this.#head = head;
    this.#askEveryMs = askEveryMs;
    this.#poll = new HeadPoll(dependencies);
  }

  /** True if head polls fail, or the last one has had no answer for a second. */
  get isUnresponsive(): boolean {
    return this.#poll.isUnresponsive;
  }

  /** Call when the chain time matters: polls the head in the background, if it is time. */
  askIfDue(): void {
    if (this.#poll.isDue(this.#askEveryMs())) void this.ask();
  }

  /**
   * Call when a request is sent, if no other heads are compared with this one: polls the head in the background if it
   * is time. Does not poll if an answer has shown the newest block in the meantime, unless the head is too low or does
   * not count.
   */
  pollIfDue(): void {
    if (this.#head.fault !== undefined || this.#head.isLow || !this.#head.isNewestShown) this.askIfDue();
  }

  /**
   * Polls the head now; while it does not count, only if it is time. If it lacked a block, the one that it named before
   * is requested in the background. Resolves with the head; `undefined` without an answer, if its indexer follows
   * another chain, or while an older poll has no answer. Never rejects.
   */
  async ask(): Promise<ChainHead | undefined> {
    const isAtRest = this.#head.fault !== undefined && !this.#poll.isDue(this.#askEveryMs());
    if (this.#isAsking || isAtRest) return undefined;
    this.#isAsking = true;
    const named = this.#head.namedBlock;
    const head = await this.#askForHead();
    if (head !== undefined && this.#head.fault === 'lacks-block')
      void this.#askForBlock(Math.min(named, head.seqno), 0);
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
    const { newestBlock } = this.#head;
    const seqno = newestBlock >= 0 ? newestBlock : (await this.#askForHead(atMostMs))?.seqno;
    if (seqno === undefined) this.#isAsking = false;
    else await this.#askForBlock(seqno, CHECK_MS);
  }

  /**
   * Learns the head in an answer to `masterchainInfo`, of any request: it counts as a head poll. Returns the head;
   * `undefined` if the answer names none, or one of another chain: then no client may get it.
   */
  hear(head: ChainHead): ChainHead | undefined {
    if (head.seqno < 0) return undefined;
    this.#poll.answered();
    if (!this.#head.name(head)) return undefined;
    this.#poll.accepted();
    return head;
  }

  /** Call when the clock has jumped: earlier instants then mean nothing. */
  forget(): void {
    this.#head.forget();
    this.#poll.forget();
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
    if (isThere !== undefined) this.#head.checked(seqno, isThere);
    this.#isAsking = false;
  }
}
