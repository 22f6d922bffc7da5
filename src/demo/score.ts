import type { Chain } from '../simulator/chain.ts';
import { checkAnswer } from './check-answer.ts';
import type { HeardAnswer } from './client.ts';
import { Standstill } from './standstill.ts';

/** An answer that was wrong, and why. */
export interface WrongAnswer {
  readonly answer: HeardAnswer;
  readonly reason: string;
}

/** What a score is made from. */
export interface ScoreOptions {
  /** The chain, advanced to the present. */
  readonly chain: () => Chain;
  readonly onWrong: (wrong: WrongAnswer) => void;
}

/** After a standstill flights of before it still land, with answers that are older than they may be. */
const RECOVERY_MS = 10_000;

/** Checks and counts every answer that the crowd gets. */
export class Score implements Disposable {
  readonly #options: ScoreOptions;
  readonly #standstill = new Standstill();
  #answers = 0;
  #hits = 0;
  #wrong = 0;
  #unchecked = 0;

  constructor(options: ScoreOptions) {
    this.#options = options;
  }

  get answers(): number {
    return this.#answers;
  }

  /** Answers that the proxy gave without going forward, by its own word. */
  get hits(): number {
    return this.#hits;
  }

  get wrong(): number {
    return this.#wrong;
  }

  /** Answers that were not checked because this process stood still around then. */
  get unchecked(): number {
    return this.#unchecked;
  }

  /** Takes an answer in; false when it was wrong. */
  readonly add = (answer: HeardAnswer): boolean => {
    this.#answers++;
    if (/^toncache; hit\b/.test(answer.cacheStatus)) this.#hits++;
    if (this.#standstill.endedSince(answer.sentAt - RECOVERY_MS)) {
      this.#unchecked++;
      return true;
    }
    const reason = checkAnswer(answer, this.#options.chain());
    if (reason === undefined) return true;
    this.#wrong++;
    this.#options.onWrong({ answer, reason });
    return false;
  };

  [Symbol.dispose](): void {
    this.#standstill[Symbol.dispose]();
  }
}
