import type { FollowerState } from '../answer/block-proof.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';

/** Polls and cost are compared over this many seconds. */
const SECONDS = 30;

/** The assumed cost of following blocks, in requests a second: 2.5 blocks, and the head polls. */
export const COST_OF_BLOCKS = 5;

/** The same for the look-ups of owners: one for each block. */
export const COST_OF_LOOK_UPS = 2.5;

/** It starts when polls exceed its cost by this factor, and stops when they fall below its cost. */
const WORTH = 2;

/** It rests if fewer of the {@link SECONDS} were alive, or if it is not alive after this many seconds of a beginning. */
const [FEWEST_ALIVE, LONGEST_BEGINNING] = [8, 90];

/**
 * After it has proven too little, it stays off for the first, twice as long each next time, and at most for the second.
 */
const [SHORTEST_REST_MS, LONGEST_REST_MS]: readonly [Ms, Ms] = [20_000, 10 * 60_000];

/** After it was alive for this time, its next rest is the shortest. */
const RECOVERED_SECONDS = 60;

/** After it stopped because it cost more than it saved, this cost is expected of it for this long. */
const COST_KNOWN_MS: Ms = 10 * 60_000;

/** The database needs as much time for this many rows of a block as for a poll. */
const ROWS_OF_POLL = 50;

/** The polls that a proof has answered, and all that it has answered or would have answered. */
export interface Polls {
  readonly proven: number;
  readonly wanted: number;
}

export interface FollowerSwitchDependencies {
  readonly now: () => MonotonicMs;
  /** The polls since the last call. */
  readonly takePolls: () => Polls;
  /** The assumed cost while it is off, in requests a second. */
  readonly expectedCost: number;
  /** True from a start, or a new beginning, until answers can be proven. */
  readonly isBeginning: () => boolean;
  /** True if answers can be proven now. */
  readonly isAlive: () => boolean;
  /** The number of instances on one Redis, and of those whose switches have {@link FollowerSwitch.hasPolls}. */
  readonly instances: () => { readonly all: number; readonly withPolls: number };
}

interface Second extends Polls {
  readonly cost: number;
  readonly wasAlive: boolean;
}

/**
 * Decides whether following the blocks pays. It starts when the polls that a proof would have answered exceed twice its
 * cost, and stops when the proven ones fall below its cost. It rests, for 20 s to 10 minutes, when it would pay and proves
 * too little.
 *
 * Its cost is the number of answers that it needs, and of rows in the pages of blocks by {@link ROWS_OF_POLL}. Instances
 * share these answers, so each one counts those of others like its own, and divides its cost by the number of instances
 * that have such polls. Then it does not matter which of them sends the requests.
 *
 * While it is on, a second in which the indexer answered nothing does not count: an outage is no reason to stop. Nor does
 * one before the first proof after a start or a new beginning: it reads what it has missed, and a single slow second of
 * the indexer or of this machine would cost as many again.
 */
export class FollowerSwitch {
  readonly #dependencies: FollowerSwitchDependencies;
  readonly #seconds: Second[] = [];
  #isOn = false;
  /** True from the first proof until the next beginning. */
  #isProving = false;
  /** The seconds of beginnings, less those that were alive since. */
  #beginning = 0;
  #restsUntil: MonotonicMs = Number.NEGATIVE_INFINITY;
  #restMs = SHORTEST_REST_MS;
  /** Since its last rest. */
  #aliveSeconds = 0;
  #cost = 0;
  #answered = 0;
  /** The wanted polls in each of the last seconds. */
  readonly #wanted: number[] = [];
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

  /** Call when the follower has got an answer for which it, or another instance, sent a request to the indexer. */
  needed(): void {
    this.#cost++;
  }

  /** The same for the rows in a page of a block. */
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
    const second = { ...takePolls(), cost: this.#cost / this.#sharing, wasAlive: isAlive() };
    this.#wanted.push(second.wanted);
    if (this.#wanted.length > SECONDS) this.#wanted.shift();
    const isAnswered = this.#answered > 0;
    this.#cost = 0;
    this.#answered = 0;
    if (this.#isOn && !(isAnswered && this.#counts(second.wasAlive))) return;
    this.#seconds.push(second);
    if (this.#seconds.length > SECONDS) this.#seconds.shift();
    if (this.#isOn) this.#endIfNotWorthIt(second.wasAlive);
    else if (this.state !== 'resting' && this.#sum('wanted') > WORTH * this.#expectedCost * SECONDS) this.#turn(true);
  }

  /** True for a second that is not one of a beginning. Rests if that takes too long. */
  #counts(wasAlive: boolean): boolean {
    if (wasAlive && ++this.#aliveSeconds >= RECOVERED_SECONDS) this.#restMs = SHORTEST_REST_MS;
    this.#isProving = wasAlive || (this.#isProving && !this.#dependencies.isBeginning());
    if (wasAlive) this.#beginning = Math.max(0, this.#beginning - 1);
    else if (!this.#isProving && ++this.#beginning >= LONGEST_BEGINNING) this.#rest();
    return this.#isProving;
  }

  #endIfNotWorthIt(wasAlive: boolean): void {
    if (this.#seconds.length < SECONDS) return;
    const alive = this.#seconds.filter((each) => each.wasAlive);
    const pays = this.#sum('proven') >= this.#sum('cost');
    const wouldPay = this.#sum('wanted') >= this.#sum('cost');
    if ((alive.length < FEWEST_ALIVE && !wasAlive) || (!pays && wouldPay)) this.#rest();
    else if (!pays) {
      // Without the seconds in which it was catching up.
      const perSecond = alive.reduce((sum, each) => sum + each.cost, 0) / Math.max(1, alive.length);
      this.#lastCost = { perSecond, until: this.#dependencies.now() + COST_KNOWN_MS };
      this.#turn(false);
    }
  }

  #rest(): void {
    this.#restsUntil = this.#dependencies.now() + this.#restMs;
    this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
    this.#aliveSeconds = 0;
    this.#turn(false);
  }

  /** True if its polls exceed its share of the expected cost if all instances had such polls. */
  get hasPolls(): boolean {
    const { expectedCost, instances } = this.#dependencies;
    const wanted = this.#wanted.reduce((sum, each) => sum + each, 0);
    return wanted > (expectedCost * SECONDS) / instances().all;
  }

  /** The number of instances that share the cost. */
  get #sharing(): number {
    return Math.max(1, this.#dependencies.instances().withPolls);
  }

  /** In polls a second. */
  get #expectedCost(): number {
    const { now, expectedCost } = this.#dependencies;
    const { perSecond, until } = this.#lastCost;
    const share = expectedCost / this.#sharing;
    return now() < until ? Math.max(share, perSecond) : share;
  }

  #turn(isOn: boolean): void {
    this.#isOn = isOn;
    this.#isProving = false;
    this.#beginning = 0;
    this.#seconds.length = 0;
  }

  #sum(what: keyof Polls | 'cost'): number {
    return this.#seconds.reduce((sum, second) => sum + second[what], 0);
  }
}
