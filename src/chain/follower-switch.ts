import type { MonotonicMs, Ms } from '../time-units.ts';

/** Polls and cost are compared over this many seconds. */
const SECONDS = 30;

/**
 * The assumed cost of following while it is off, in requests a second: the limit of a follower that is not catching up
 * (`compose/block-proof.ts`).
 */
const EXPECTED_COST = 8;

/** It starts when polls exceed its cost by this factor, and stops when they fall below its cost. */
const WORTH = 2;

/** After it was alive for less than half of the time, it stays off for this long. */
const REST_MS: Ms = 10 * 60_000;

/**
 * `alive`: answers can be proven. `behind`: it is on, but behind. `idle`: it is off, because too few polls would be
 * answered. `resting`: it is off for a while, because it was behind for too long.
 */
export type FollowerState = 'alive' | 'behind' | 'idle' | 'resting';

export interface FollowerSwitchDependencies {
  readonly now: () => MonotonicMs;
  /** The polls since the last call that a proof has answered or would have answered. */
  readonly takePolls: () => number;
  /** True if answers can be proven now. */
  readonly isAlive: () => boolean;
}

interface Second {
  readonly polls: number;
  readonly cost: number;
  readonly wasAlive: boolean;
}

/**
 * Decides whether following the blocks pays. It starts when the polls that a proof would have answered exceed twice its
 * cost, and stops when they fall below its cost. It also stops, for 10 minutes, when it was alive for less than half of
 * 30 s. While it is on, a second in which the indexer answered nothing does not count: an outage is no reason to stop.
 */
export class FollowerSwitch {
  readonly #dependencies: FollowerSwitchDependencies;
  readonly #seconds: Second[] = [];
  #isOn = false;
  #restsUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #answered = 0;

  constructor(dependencies: FollowerSwitchDependencies) {
    this.#dependencies = dependencies;
  }

  /** True while blocks are followed. */
  get isOn(): boolean {
    return this.#isOn;
  }

  get state(): FollowerState {
    if (this.#isOn) return this.#dependencies.isAlive() ? 'alive' : 'behind';
    return this.#dependencies.now() < this.#restsUntil ? 'resting' : 'idle';
  }

  /** Call when a request of the follower is sent to the indexer. */
  sent(): void {
    this.#sent++;
  }

  /** Call when the indexer has answered the follower, also with "no such block". */
  answered(): void {
    this.#answered++;
  }

  /** Call every second: may start or stop the following of blocks. */
  tick(): void {
    const { takePolls, isAlive } = this.#dependencies;
    const second = { polls: takePolls(), cost: this.#isOn ? this.#sent : EXPECTED_COST, wasAlive: isAlive() };
    const counts = !this.#isOn || this.#answered > 0;
    this.#sent = 0;
    this.#answered = 0;
    if (!counts) return;
    this.#seconds.push(second);
    if (this.#seconds.length > SECONDS) this.#seconds.shift();
    if (this.#isOn) this.#endIfNotWorthIt();
    else if (this.state !== 'resting' && this.#sum('polls') > WORTH * EXPECTED_COST * SECONDS) this.#turn(true);
  }

  #endIfNotWorthIt(): void {
    if (this.#seconds.length < SECONDS) return;
    const alive = this.#seconds.filter(({ wasAlive }) => wasAlive).length;
    if (alive < SECONDS / 2) {
      this.#restsUntil = this.#dependencies.now() + REST_MS;
      this.#turn(false);
    } else if (this.#sum('polls') < this.#sum('cost')) this.#turn(false);
  }

  #turn(isOn: boolean): void {
    this.#isOn = isOn;
    this.#seconds.length = 0;
  }

  #sum(what: 'polls' | 'cost'): number {
    return this.#seconds.reduce((sum, second) => sum + second[what], 0);
  }
}
