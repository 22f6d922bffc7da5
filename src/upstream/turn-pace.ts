import { type Turns, WINDOW_MS } from './rate-window.ts';

/** Where this instance had no turn at all: it may have one soon. */
const LEAST_TURNS = 0.5;
/** What a window counts for beside the one after it. */
const FADING = 0.5;

/**
 * The time from one turn of this instance to its next, in milliseconds, while somebody waits here: a step of the rate
 * when it is alone, and longer when others have a part of the windows that they share.
 */
export class TurnPace {
  readonly #stepMs: number;
  #ms: number;
  #windowEndsAt = Number.NEGATIVE_INFINITY;
  /** In the window that lasts now; `#waitedMs` is 0 until it is spent. */
  #turns = 0;
  #waitedMs = 0;
  /** In the spent ones before it, the older the less. */
  #earlier = { turns: 0, waitedMs: 0 };

  /** `stepMs`: from one turn to the next, whoever has them. */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
    this.#ms = stepMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Learns from what came of asking for so many turns; somebody has waited here since `waitingSince`. */
  learn(asked: number, { at, windowEndsAt }: Turns, waitingSince: number): void {
    if (windowEndsAt - this.#windowEndsAt > WINDOW_MS / 2) this.#beginWindow(windowEndsAt);
    this.#turns += at.length;
    if (at.length === asked) return;
    this.#waitedMs = Math.min(WINDOW_MS, windowEndsAt - waitingSince);
    const turns = this.#earlier.turns + this.#turns;
    this.#ms = Math.max(this.#stepMs, (this.#earlier.waitedMs + this.#waitedMs) / Math.max(LEAST_TURNS, turns));
  }

  /** What was learnt is void after a window that was not spent: there was enough for all. */
  #beginWindow(endsAt: number): void {
    const isFollowing = endsAt - this.#windowEndsAt < 2 * WINDOW_MS;
    if (isFollowing && this.#waitedMs > 0) {
      const { turns, waitedMs } = this.#earlier;
      this.#earlier = { turns: (turns + this.#turns) * FADING, waitedMs: (waitedMs + this.#waitedMs) * FADING };
    } else {
      this.#earlier = { turns: 0, waitedMs: 0 };
      this.#ms = this.#stepMs;
    }
    this.#windowEndsAt = endsAt;
    this.#turns = 0;
    this.#waitedMs = 0;
  }
}
