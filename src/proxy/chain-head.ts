import type { HeadAnswer } from './ask-head.ts';

export interface ChainHeadDependencies {
  /** Asks the indexer for its newest block; `undefined` when it cannot be learned. Never rejects. */
  readonly askHead: () => Promise<HeadAnswer | undefined>;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Called with the newest known block, each time it changes. */
  readonly onNewest: (seqno: number) => void;
}

/**
 * Replicas behind one address may be this many blocks apart. A chain makes 2.5 blocks a second: 1000 blocks are nearly
 * 7 minutes.
 */
const MARGIN_BLOCKS = 1000;

/**
 * The most blocks that an indexer may commit a second while it catches up. It reads every block, so it is not 100 times
 * as fast as the chain.
 */
const MARGIN_BLOCKS_PER_SECOND = 300;

/**
 * For so long a block or a chain time that was shown counts, even if `masterchainInfo` names a lower head: replicas
 * differ.
 */
export const SHOWN_HOLDS_MS = 60_000;

/**
 * The head is asked for at most once in this time, in milliseconds. With each failure the time doubles, up to the
 * longest pause.
 */
const ASK_EVERY_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;

interface Seen {
  readonly seqno: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/**
 * The newest masterchain block that the indexer is known to have, and how many blocks it can have committed since.
 * Blocks beyond that cannot exist yet, so the indexer need not be asked for them.
 *
 * Only `masterchainInfo` gives the head, because the first other answer after a start may be about last year. Its
 * newest answer counts even if it is lower than the one before: an indexer may be set back to an older state. Other
 * answers only raise the head.
 */
export class ChainHead {
  readonly #dependencies: ChainHeadDependencies;
  #head: (Seen & { readonly apiVersion: string | undefined }) | undefined;
  #shown: Seen | undefined;
  #mayAskAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #newest: number | undefined;
  #asking: Promise<HeadAnswer | undefined> | undefined;

  constructor(dependencies: ChainHeadDependencies) {
    this.#dependencies = dependencies;
  }

  /** The `X-API-Version` that the indexer sent with the head. */
  get apiVersion(): string | undefined {
    return this.#head?.apiVersion;
  }

  /**
   * Whether no masterchain block of this seqno can exist yet; `false` while the head is not known. When it is `true`,
   * asks for the head in the background, at most every 10 s.
   */
  isBeyond(seqno: number): boolean {
    if (this.#head === undefined) return false;
    const isBeyond = [this.#head, this.#shown].every((seen) => seen === undefined || seqno > this.#furthest(seen));
    if (isBeyond) this.#askInBackground();
    return isBeyond;
  }

  /** Learns the highest committed seqno of an answer. */
  learn(seqno: number | undefined): void {
    if (seqno === undefined || seqno <= (this.#shown?.seqno ?? -1)) return;
    this.#shown = { seqno, at: this.#dependencies.monotonic() };
    this.#reportNewest();
  }

  /**
   * To be called when the indexer has no block of this seqno. Asks for the head in the background if the block may be
   * beyond it.
   */
  learnAbsent(seqno: number): void {
    const highest = Math.max(this.#head?.seqno ?? -1, this.#shown?.seqno ?? -1);
    if (highest < 0 || seqno > highest + MARGIN_BLOCKS) this.#askInBackground();
  }

  /**
   * To be called when the time has jumped: the machine may have slept, which the monotonic clock does not count, and the
   * chain went on meanwhile. Until the head is asked for again, every block may exist.
   */
  onClockJump(): void {
    this.#head = undefined;
    this.#shown = undefined;
    this.#mayAskAt = Number.NEGATIVE_INFINITY;
  }

  /** Asks for the head and learns it; concurrent calls share one request. Never rejects. */
  readonly ask = (): Promise<HeadAnswer | undefined> => {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  };

  #askInBackground(): void {
    if (this.#dependencies.monotonic() >= this.#mayAskAt) void this.ask();
  }

  async #ask(): Promise<HeadAnswer | undefined> {
    const { askHead, monotonic } = this.#dependencies;
    const answer = await askHead();
    const now = monotonic();
    if (answer?.seqno === undefined) {
      this.#mayAskAt = now + Math.min(ASK_EVERY_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
      return answer;
    }
    this.#failures = 0;
    this.#mayAskAt = now + ASK_EVERY_MS;
    this.#head = { seqno: answer.seqno, at: now, apiVersion: answer.apiVersion };
    const shown = this.#shown;
    if (shown !== undefined && (shown.seqno <= answer.seqno || now - shown.at > SHOWN_HOLDS_MS))
      this.#shown = undefined;
    this.#reportNewest();
    return answer;
  }

  #reportNewest(): void {
    const newest = Math.max(this.#head?.seqno ?? -1, this.#shown?.seqno ?? -1);
    if (newest === this.#newest) return;
    this.#newest = newest;
    this.#dependencies.onNewest(newest);
  }

  #furthest({ seqno, at }: Seen): number {
    const elapsedMs = this.#dependencies.monotonic() - at;
    return seqno + MARGIN_BLOCKS + (elapsedMs * MARGIN_BLOCKS_PER_SECOND) / 1000;
  }
}
