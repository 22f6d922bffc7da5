import type { MonotonicMs, Ms } from '../time-units.ts';
import type { IndexerHead } from './indexer-head.ts';

/** While requests are sent, the heads of several indexers are asked for as often as this. */
const ASK_EVERY_MS: Ms = 2000;

/** A backup's head is asked for if a request went to it within this time: its provider counts requests. */
const BACKUP_IN_USE_MS: Ms = 5000;

export interface HeadsDependencies {
  /** In the order of the indexers. */
  readonly heads: readonly IndexerHead[];
  readonly isBackup: (index: number) => boolean;
  readonly now: () => MonotonicMs;
  /** Called when an indexer falls behind, and when it has caught up. */
  readonly onBehind: (index: number, isBehind: boolean) => void;
}

export interface HeadsOptions {
  /** The most blocks by which the head of an indexer may be older than the newest head of all. */
  readonly maxLag: number;
}

/**
 * How far each of several indexers is behind the others. All are asked for their heads at once, and the answers to one
 * such round are compared: so an indexer is not behind because it was asked earlier. One that does not answer keeps the
 * lag that it had, at first none.
 */
export class Heads {
  readonly #dependencies: HeadsDependencies;
  readonly #options: HeadsOptions;
  readonly #lags: number[];
  readonly #usedAt: MonotonicMs[];
  #askedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: HeadsDependencies, options: HeadsOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#lags = dependencies.heads.map(() => 0);
    this.#usedAt = dependencies.heads.map(() => Number.NEGATIVE_INFINITY);
  }

  /** The blocks by which an indexer was behind the newest head when it last said. */
  lag(index: number): number {
    return this.#lags[index] ?? 0;
  }

  isBehind(index: number): boolean {
    return this.lag(index) > this.#options.maxLag;
  }

  /** To be called when a request is sent to an indexer: asks for the heads in the background if it is time. */
  onUse(index: number): void {
    const now = this.#dependencies.now();
    this.#usedAt[index] = now;
    if (now - this.#askedAt >= ASK_EVERY_MS) void this.ask();
  }

  /** Asks for the heads now. Resolves when all have answered or cannot. */
  async ask(): Promise<void> {
    const { heads, isBackup, now } = this.#dependencies;
    const startedAt = now();
    this.#askedAt = startedAt;
    const seqnos = new Map<number, number>();
    const isAsked = (index: number) => !isBackup(index) || startedAt - (this.#usedAt[index] ?? 0) < BACKUP_IN_USE_MS;
    await Promise.all(
      heads.map(async (head, index) => {
        const seqno = isAsked(index) ? await head.ask() : undefined;
        if (seqno === undefined) return;
        seqnos.set(index, seqno);
        const newest = Math.max(...seqnos.values());
        for (const [each, its] of seqnos) this.#setLag(each, newest - its);
      }),
    );
  }

  #setLag(index: number, lag: number): void {
    const was = this.isBehind(index);
    this.#lags[index] = lag;
    if (this.isBehind(index) !== was) this.#dependencies.onBehind(index, !was);
  }
}
