import type { MonotonicMs, Ms } from '../time-units.ts';
import type { IndexerHead } from './indexer-head.ts';

/** While requests are sent, the heads of several indexers are asked for as often as this. */
const ASK_EVERY_MS: Ms = 2000;

export interface HeadsDependencies {
  /** In the order of the indexers, without backups: their providers count requests. */
  readonly heads: readonly Pick<IndexerHead, 'ask' | 'seqno'>[];
  readonly now: () => MonotonicMs;
  /** Called when an indexer falls behind, and when it has caught up. */
  readonly onBehind: (index: number, isBehind: boolean) => void;
  /** The most blocks by which the head of an indexer may be older than the newest head of all. */
  readonly maxLag: number;
}

/**
 * How far each of several indexers is behind the others; backups are never asked, and never behind. All are asked for
 * their heads at once, and the answers to one such round are compared: so an indexer is not behind because it was asked
 * earlier. One that does not answer keeps the lag that it had, at first none.
 */
export class Heads {
  readonly #dependencies: HeadsDependencies;
  readonly #lags: number[];
  #askedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: HeadsDependencies) {
    this.#dependencies = dependencies;
    this.#lags = dependencies.heads.map(() => 0);
  }

  /** The blocks by which an indexer was behind the newest head when it last said. */
  lag(index: number): number {
    return this.#lags[index] ?? 0;
  }

  isBehind(index: number): boolean {
    return this.lag(index) > this.#dependencies.maxLag;
  }

  /** To be called when a request is sent: asks for the heads in the background if it is time. */
  onRequest(): void {
    if (this.#dependencies.now() - this.#askedAt >= ASK_EVERY_MS) void this.ask();
  }

  /** Asks for the heads now. Resolves when all have answered or cannot. */
  async ask(): Promise<void> {
    const { heads, now } = this.#dependencies;
    this.#askedAt = now();
    const seqnos = new Map<number, number>();
    await Promise.all(
      heads.map(async (head, index) => {
        const seqno = await head.ask();
        if (seqno !== undefined) seqnos.set(index, seqno);
      }),
    );
    // Compared when all have answered: the first to answer would be level with the newest until the others do.
    const newest = Math.max(...heads.map((head, index) => seqnos.get(index) ?? head.seqno));
    for (const [index, seqno] of seqnos) this.#setLag(index, newest - seqno);
  }

  #setLag(index: number, lag: number): void {
    const was = this.isBehind(index);
    this.#lags[index] = lag;
    if (this.isBehind(index) !== was) this.#dependencies.onBehind(index, !was);
  }
}
