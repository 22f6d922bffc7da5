import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Chain } from '../simulator/chain.ts';
import { checkAnswer } from './check-answer.ts';
import { type HeardAnswer, isHit } from './client.ts';

/** What a score is made from. */
export interface ScoreOptions {
  /** The chain, advanced to the present. */
  readonly chain: () => Chain;
  /** Told of each wrong answer, and why it is wrong. */
  readonly onWrong: (answer: HeardAnswer, reason: string) => void;
}

/** Checks and counts every answer that the crowd gets. */
export class Score implements Disposable {
  readonly #options: ScoreOptions;
  readonly #stalls = monitorEventLoopDelay();
  #answers = 0;
  #hits = 0;
  #wrong = 0;

  constructor(options: ScoreOptions) {
    this.#options = options;
    this.#stalls.enable();
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

  /** Takes an answer in; false when it was wrong. */
  readonly add = (answer: HeardAnswer): boolean => {
    this.#answers++;
    if (isHit(answer)) this.#hits++;
    // When this process stood still (Ctrl-Z, a machine with no time), answers of before it arrive late.
    const reason = checkAnswer(answer, this.#options.chain(), this.#stalls.max / 1e6);
    if (reason === undefined) return true;
    this.#wrong++;
    this.#options.onWrong(answer, reason);
    return false;
  };

  [Symbol.dispose](): void {
    this.#stalls.disable();
  }
}
