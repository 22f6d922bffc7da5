import type { MonotonicMs, Ms } from '../time-units.ts';

/** What is compared: the polls and the cost of this many seconds. */
const SECONDS = 30;

/** What following costs while it is off and cannot be counted, in requests a second: its limit. */
const EXPECTED_COST = 8;

/** It begins when polls exceed their cost by this factor, and ends when they do not exceed the cost any more. */
const WORTH = 2;

/** After it was alive for less than half of the time, blocks are not followed for this long. */
const REST_MS: Ms = 10 * 60_000;

/**
 * The states of who follows the blocks: answers can be proven; it is on, but behind; it is off, because too few polls would be
 * answered; it is off for a while, because it was behind for too long.
 */
export type FollowerState = 'alive' | 'behind' | 'idle' | 'resting';

export interface FollowerSwitchDependencies {
  readonly now: () => MonotonicMs;
  /** The polls since the last call that a proof has answered or would have answered. */
  readonly takePolls: () => number;
  /** Whether answers can be proven now. */
  readonly isAlive: () => boolean;
}

interface Second {
  readonly polls: number;
  readonly cost: number;
  readonly wasAlive: boolean;
}

/**
 * Decides whether following the blocks pays: it begins when polls that a proof would have answered exceed twice its cost,
 * and ends when they are below once. It also ends, for 10 minutes, when it was alive for less than half of 30 s. While blocks
 * are followed, a second in which the indexer answered nothing does not count: an outage is no reason to end.
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

  /** Whether blocks are followed. */
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

  /** Call when the indexer has answered the follower, also that it does not have a block. */
  answered(): void {
    this.#answered++;
  }

  /** Call each second: may begin or end the following of blocks. */
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
