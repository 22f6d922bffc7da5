import type { Chain } from '../simulator/chain.ts';
import { checkAnswer } from './check-answer.ts';
import { type HeardAnswer, isHit } from './client.ts';

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

const BEAT_MS = 200;
const STANDSTILL_MS = 1000;

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
    if (isHit(answer)) this.#hits++;
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

/**
 * Notices when this process stood still for a second or more (Ctrl-Z, a laptop that slept, a machine with no time):
 * what was under way then says nothing about the proxy.
 */
class Standstill implements Disposable {
  readonly #timer = setInterval(() => this.#beat(), BEAT_MS).unref();
  #beatAt = Date.now();
  #endedAt = Number.NEGATIVE_INFINITY;

  /** Whether one ended at that instant (epoch ms) or later. */
  endedSince(instant: number): boolean {
    this.#beat();
    return this.#endedAt >= instant;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = Date.now();
    if (now - this.#beatAt >= STANDSTILL_MS) this.#endedAt = now;
    this.#beatAt = now;
  }
}
