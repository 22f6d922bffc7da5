import type { FollowerState } from '../answer/block-proof.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Polls and cost are compared over this many seconds. */
const SECONDS = 30;

/** The assumed cost of following blocks, in requests a second: 2.5 blocks of two requests, and the head polls. */
export const COST_OF_BLOCKS = 8;

/** The same for the look-ups of owners: one for each block. */
export const COST_OF_LOOK_UPS = 2.5;

/** It starts when polls exceed its cost by this factor, and stops when they fall below its cost. */
const WORTH = 2;

/**
 * After it was alive for less than half of the time, it stays off for the first, twice as long each next time, and at
 * most for the second.
 */
const [SHORTEST_REST_MS, LONGEST_REST_MS]: readonly [Ms, Ms] = [20_000, 10 * 60_000];

/** After it was alive for this time, its next rest is the shortest. */
const RECOVERED_SECONDS = 60;

/** After it stopped because it cost more than it saved, this cost is expected of it for this long. */
const COST_KNOWN_MS: Ms = 10 * 60_000;

/** The database needs as much time for this many rows of a block as for a poll. */
const ROWS_OF_POLL = 50;

export interface FollowerSwitchDependencies {
  readonly now: () => MonotonicMs;
  /** The polls since the last call that a proof has answered or would have answered. */
  readonly takePolls: () => number;
  /** The assumed cost while it is off, in requests a second. */
  readonly expectedCost: number;
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
 * cost, and stops when they fall below its cost. Its cost is the number of its requests, and of rows in the pages of
 * blocks by {@link ROWS_OF_POLL}. It also stops, for 20 s to 10 minutes, when it is behind and was alive for less than half of 30 s.
 * While it is on, a second in which the indexer answered nothing does not count: an outage is no reason to stop.
 */
export class FollowerSwitch {
  readonly #dependencies: FollowerSwitchDependencies;
  readonly #seconds: Second[] = [];
  #isOn = false;
  #restsUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #restMs = SHORTEST_REST_MS;
  /** Since its last rest. */
  #aliveSeconds = 0;
  #cost = 0;
  #answered = 0;
  /** A second, when it last stopped for its cost. */
  #lastCost = { perSecond: 0, until: Number.NEGATIVE_INFINITY };

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
    this.#cost++;
  }

  /** Call when a page of a block that was requested from the indexer for the follower has come. */
  loadedRows(rows: number): void {
    this.#cost += rows / ROWS_OF_POLL;
  }

  /** Call when the indexer has answered the follower, also with "no such block". */
  answered(): void {
    this.#answered++;
  }

  /** Call every second: may start or stop the following of blocks. */
  tick(): void {
    const { takePolls, isAlive } = this.#dependencies;
    const second = { polls: takePolls(), cost: this.#cost, wasAlive: isAlive() };
    const counts = !this.#isOn || this.#answered > 0;
    this.#cost = 0;
    this.#answered = 0;
    if (!counts) return;
    if (second.wasAlive && ++this.#aliveSeconds >= RECOVERED_SECONDS) this.#restMs = SHORTEST_REST_MS;
    this.#seconds.push(second);
    if (this.#seconds.length > SECONDS) this.#seconds.shift();
    if (this.#isOn) this.#endIfNotWorthIt(second.wasAlive);
    else if (this.state !== 'resting' && this.#sum('polls') > WORTH * this.#expectedCost * SECONDS) this.#turn(true);
  }

  #endIfNotWorthIt(isAlive: boolean): void {
    if (this.#seconds.length < SECONDS) return;
    const alive = this.#seconds.filter(({ wasAlive }) => wasAlive);
    if (alive.length < SECONDS / 2) {
      if (isAlive) return;
      this.#restsUntil = this.#dependencies.now() + this.#restMs;
      this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
      this.#aliveSeconds = 0;
      this.#turn(false);
    } else if (this.#sum('polls') < this.#sum('cost')) {
      // Without the seconds in which it was catching up.
      const perSecond = alive.reduce((sum, { cost }) => sum + cost, 0) / alive.length;
      this.#lastCost = { perSecond, until: this.#dependencies.now() + COST_KNOWN_MS };
      this.#turn(false);
    }
  }

  /** In polls a second. */
  get #expectedCost(): number {
    const { now, expectedCost } = this.#dependencies;
    const { perSecond, until } = this.#lastCost;
    return now() < until ? Math.max(expectedCost, perSecond) : expectedCost;
  }

  #turn(isOn: boolean): void {
    this.#isOn = isOn;
    this.#seconds.length = 0;
  }

  #sum(what: 'polls' | 'cost'): number {
    return this.#seconds.reduce((sum, second) => sum + second[what], 0);
  }
}
