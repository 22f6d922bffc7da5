import type { Head } from '../indexer/head.ts';
import type { HeadPolls } from '../indexer/head-polls.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import type { ChainHead } from '../ton/chain-point.ts';

/** A round ends after this time: an indexer that has not answered by then cannot be the newest. */
const ROUND_MS: Ms = 1000;

/**
 * The lag of an indexer is the largest of this many rounds: a single round may fall between its commit of a block and
 * another indexer's.
 */
const ROUNDS = 3;

export interface HeadsDependencies {
  /** In the order of the indexers, without backups: their providers count requests. */
  readonly replicas: readonly { readonly head: Pick<Head, 'fault'>; readonly polls: Pick<HeadPolls, 'ask'> }[];
  readonly now: () => MonotonicMs;
  /** Called when an indexer falls behind, and when it has caught up. */
  readonly onBehind: (index: number, isBehind: boolean) => void;
  /** While requests are sent, the heads are polled this often. */
  readonly askEveryMs: () => Ms;
  /** The maximum number of blocks by which an indexer's head may be older than the newest head. */
  readonly maxLag: number;
}

/** The heads of one round, by place of the indexer. */
type Round = ReadonlyMap<number, ChainHead>;

/**
 * Measures how far each of several indexers is behind the others. Backups take no part, and are never behind
 * (`HeadPolls` polls a backup that answers, for its chain time). All heads are polled together, except those of
 * indexers that have not answered the last poll. Only heads reported within one second are compared. So an indexer is
 * not behind because it was polled earlier, and no indexer is behind a dead one. An indexer that does not answer keeps
 * its last lag (initially zero).
 */
export class Heads {
  readonly #dependencies: HeadsDependencies;
  /** Of each indexer, in its last rounds. */
  readonly #lags: readonly number[][];
  #askedAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: HeadsDependencies) {
    this.#dependencies = dependencies;
    this.#lags = dependencies.replicas.map(() => []);
  }

  /** The blocks by which an indexer was behind the newest head in the last rounds in which it reported a head. */
  lag(index: number): number {
    return Math.max(0, ...(this.#lags[index] ?? []));
  }

  isBehind(index: number): boolean {
    return this.lag(index) > this.#dependencies.maxLag;
  }

  /** Call when a request is sent: polls the heads in the background if it is time. */
  askIfDue(): void {
    const { now, askEveryMs } = this.#dependencies;
    if (now() - this.#askedAt >= askEveryMs()) void this.ask();
  }

  /** Polls the heads now. Resolves when all have answered or cannot, after at most a second. */
  async ask(): Promise<void> {
    const { replicas, now } = this.#dependencies;
    this.#askedAt = now();
    const said = new Map<number, ChainHead>();
    let newest: number | undefined;
    const answers = replicas.map(async ({ polls }, index) => {
      const answer = await polls.ask();
      if (answer === undefined) return;
      // A head that comes after its round is compared with the others of this round. It does not count as the newest
      // for them, because it is younger.
      if (newest !== undefined) this.#addLag(index, newest - answer.seqno);
      else said.set(index, answer);
    });
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const timer = setTimeout(end, ROUND_MS).unref();
    await Promise.race([Promise.all(answers), isOver]);
    clearTimeout(timer);
    // Compared when all have answered: the first to answer would look newest until the others do.
    newest = this.#newest(said);
    for (const [index, { seqno }] of said) this.#addLag(index, newest - seqno);
  }

  /** The newest head that counts; 0 if none does. */
  #newest(said: Round): number {
    const { replicas } = this.#dependencies;
    const counting = [...said].filter(([index]) => replicas[index]?.head.fault === undefined);
    return Math.max(0, ...counting.map(([, { seqno }]) => seqno));
  }

  #addLag(index: number, lag: number): void {
    const was = this.isBehind(index);
    const lags = this.#lags[index];
    lags?.push(Math.max(0, lag));
    if (lags !== undefined && lags.length > ROUNDS) lags.shift();
    if (this.isBehind(index) !== was) this.#dependencies.onBehind(index, !was);
  }
}
