import type { Admission, Entered } from '../admission/admission.ts';
import type { EntryRequest, Refusal } from '../admission/guard.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** After an idle time, as many requests as the rate allows within this time may be sent at once. */
const BURST_MS: Ms = 500;

const NO_RESERVATION: Refusal = { reason: 'rate-limit', retryAfterMs: 0 };

export interface FollowerAdmissionDependencies {
  /** The admission with the follower's own slots. */
  readonly admission: Pick<Admission, 'enter'>;
  /** The allowed requests a second now; more than 0. */
  readonly perSecond: () => number;
  /** Takes the next reservation of an indexer's rate, by its place in the settings, ahead of the backlog. */
  readonly takeNext: (index: number) => Promise<boolean>;
  readonly now: () => MonotonicMs;
}

/**
 * Admits the block follower's requests ahead of clients. One block saves the indexer more requests than one client
 * sends, and a follower that waits behind clients never catches up (simulated: 1000 accounts at 40 to 300 requests a
 * second). Its rate is limited in even steps, with bursts of half a second.
 */
export class FollowerAdmission implements Pick<Admission, 'enter' | 'refusal'> {
  readonly #dependencies: FollowerAdmissionDependencies;
  #nextAt: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: FollowerAdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Gives a ticket after a wait for its own rate, or returns the refusal. Never rejects. */
  async enter(request: EntryRequest): Promise<Entered> {
    const { admission, takeNext } = this.#dependencies;
    await this.#step();
    const entered = await admission.enter(request);
    if ('reason' in entered) return entered;
    if (!(await takeNext(entered.route.index))) {
      entered.free();
      return NO_RESERVATION;
    }
    return entered;
  }

  /** A refusal is only known when the request enters. */
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
