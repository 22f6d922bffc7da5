import type { MonotonicMs, Ms } from '../time-units.ts';
import type { Admission, Entered } from './admission.ts';
import type { EntryRequest, Refusal } from './guard.ts';

/** After a pause, the requests of this time may be sent at once. */
const BURST_MS: Ms = 500;

const NO_TURN: Refusal = { reason: 'rate-limit', retryAfterMs: 0 };

export interface FollowerAdmissionDependencies {
  /** With slots of its own. */
  readonly admission: Pick<Admission, 'enter'>;
  /** The requests a second that may be sent now; more than 0. */
  readonly perSecond: () => number;
  /** Takes the next turn of the rate of an indexer, by its place in the settings, before all who wait in the backlog. */
  readonly takeNext: (index: number) => Promise<boolean>;
  /** Called with each request that may be sent. */
  readonly onSent: () => void;
  readonly now: () => MonotonicMs;
}

/**
 * The door for whoever follows the blocks, in front of its clients' requests: one block saves the indexer more requests than
 * one client sends, and a follower that waits behind its clients never comes up (simulated: 1000 accounts at 40 to 300
 * requests a second). Its rate is bounded in even steps, with bursts of half a second.
 */
export class FollowerAdmission implements Pick<Admission, 'enter' | 'refusal'> {
  readonly #dependencies: FollowerAdmissionDependencies;
  #nextAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: FollowerAdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /** A ticket after a wait of its own rate, or why there is none. Never rejects. */
  async enter(request: EntryRequest): Promise<Entered> {
    const { admission, takeNext, onSent } = this.#dependencies;
    await this.#step();
    const entered = await admission.enter(request);
    if ('reason' in entered) return entered;
    if (!(await takeNext(entered.route.index))) {
      entered.free();
      return NO_TURN;
    }
    onSent();
    return entered;
  }

  /** What it would be refused is only known once it enters. */
  refusal(): undefined {
    return undefined;
  }

  /** Resolves when the next request may be sent. */
  async #step(): Promise<void> {
    const now = this.#dependencies.now();
    const at = Math.max(this.#nextAt, now - BURST_MS);
    this.#nextAt = at + 1000 / this.#dependencies.perSecond();
    const waitMs = at - now;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs)).unref());
  }
}
