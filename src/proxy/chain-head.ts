import type { HeadAnswer } from './ask-head.ts';

export interface ChainHeadDependencies {
  /** Asks the indexer for its newest block; `undefined` when it cannot be learned. Never rejects. */
  readonly askHead: () => Promise<HeadAnswer | undefined>;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Told of the newest block that is known, each time that this is another one. */
  readonly onNewest: (seqno: number) => void;
}

/**
 * Replicas behind one address may be apart by the margin, and a chain makes 2.5 blocks a second: 1000 blocks are nearly
 * 7 minutes.
 */
const MARGIN_BLOCKS = 1000;

/** An indexer that catches up commits faster than the chain is made, but it reads every block: not a hundred times as fast. */
const MARGIN_BLOCKS_PER_SECOND = 300;

/** What an answer has shown outlives a lower head that `masterchainInfo` names for so long: replicas differ. */
const SHOWN_HOLDS_MS = 60_000;

/** The head is asked for at most once in this span; while it cannot be learned, the span doubles up to the longest. */
const ASK_EVERY_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;

interface Seen {
  readonly seqno: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/**
 * The newest masterchain block that the indexer is known to have, and how far it can have got since. What lies beyond
 * that cannot exist yet, so the indexer need not be asked.
 *
 * The head comes from `masterchainInfo` alone: after a start the first answer may be about last year. The newest answer of
 * it counts, also where it is lower than the one before: an indexer may be set back to an older chain. Other answers only
 * raise it.
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

  /** The indexer's `X-API-Version`, as it came with the head. */
  get apiVersion(): string | undefined {
    return this.#head?.apiVersion;
  }

  /**
   * Whether no masterchain block of this seqno can exist yet; `false` while the head is not known. Asks for the head in
   * the background where that was seen longer ago than 10 s.
   */
  isBeyond(seqno: number): boolean {
    if (this.#head === undefined) return false;
    const isBeyond = [this.#head, this.#shown].every((seen) => seen === undefined || seqno > this.#furthest(seen));
    if (isBeyond) this.#askInBackground();
    return isBeyond;
  }

  /** Takes the highest seqno that an answer has shown to be committed. */
  learn(seqno: number | undefined): void {
    if (seqno === undefined || seqno <= (this.#shown?.seqno ?? -1)) return;
    this.#shown = { seqno, at: this.#dependencies.monotonic() };
    this.#reportNewest();
  }

  /** The indexer has no block of this seqno. Asks for the head in the background where that would explain it. */
  learnAbsent(seqno: number): void {
    const highest = Math.max(this.#head?.seqno ?? -1, this.#shown?.seqno ?? -1);
    if (highest < 0 || seqno > highest + MARGIN_BLOCKS) this.#askInBackground();
  }

  /** Asks for the head, once for all who want it at the same time, and learns it. Never rejects. */
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
