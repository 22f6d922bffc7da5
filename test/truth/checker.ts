import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { type Call, nameOf, type Written, writeSomehow } from './call.ts';
import { checkAnswer } from './check-answer.ts';
import { HEAD_LOADS_MS, HEAD_REGRESSED_MS } from './fallen-states.ts';
import type { Excuses } from './fault.ts';
import type { FaultCycle } from './fault-cycle.ts';
import type { Instance, Received } from './instance.ts';
import { indexedAfterMs, LITE_SERVER_MS } from './lite-servers.ts';
import type { MachineDelay } from './machine-delay.ts';
import type { Purges } from './purges.ts';
import { mayReplace } from './replaced-answers.ts';
import type { States } from './states.ts';
import type { Finding, Tally } from './tally.ts';
import { comparedForMs, isMixed, isOfAccount } from './windows.ts';
import type { World } from './world.ts';

/** The objects that the clients of one run share. */
export interface CheckerOptions {
  readonly world: World;
  readonly states: States;
  readonly faults: FaultCycle;
  readonly purges: Purges;
  readonly machine: MachineDelay;
  readonly tally: Tally;
}

/** On a slower machine an instance may take the indexer, or itself, for overloaded, ms. */
const OVERLOADED_MACHINE_MS = 1000;

/**
 * No client waits longer for an answer of a healthy indexer, ms: an unreachable Redis costs its budget, and a killed
 * holder of a lease costs about a second.
 */
const LONGEST_WAIT_MS = 3000;

/** A client remembers the state that it saw of this many calls. */
const MOST_SEEN = 200;

/** The newest state of a call that a client saw. */
interface Seen {
  readonly fromAt: number;
  readonly answeredAt: number;
  /** The earliest instant at which it can have been loaded, epoch ms. */
  readonly loadedAt: number;
  readonly text: string;
  /** Until then a less complete answer is compared with this one, epoch ms. */
  readonly comparedUntil: number;
}

/**
 * One client: it stays with an instance until the instance is killed, spells every request anew, and checks every
 * answer.
 */
export class Checker {
  readonly #options: CheckerOptions;
  readonly #random: SeededRandom;
  /** By call. */
  readonly #seen = new Map<string, Seen>();
  #place: number;
  #instance: Instance | undefined;

  constructor(options: CheckerOptions, place: number, random: SeededRandom) {
    this.#options = options;
    this.#place = place;
    this.#random = random;
  }

  /**
   * Sends a request. If the answer was old, it may purge it and send the request again. Never rejects because of an
   * answer.
   */
  async ask(call: Call): Promise<void> {
    const { purges, tally } = this.#options;
    const instance = this.#chooseInstance();
    if (!(await this.#askOnce(call, instance))) return;
    if (!(await purges.purge(call, instance))) return;
    tally.count('purges');
    await this.#askOnce(call, instance);
  }

  #chooseInstance(): Instance {
    const { instances } = this.#options.world;
    const at = (place: number) => instances[place % instances.length];
    if (at(this.#place)?.isKilled === true) this.#place++;
    const instance = at(this.#place);
    if (instance === undefined) throw new Error('there is no instance');
    // The answers of one instance say nothing about those of another.
    if (instance !== this.#instance) this.#seen.clear();
    this.#instance = instance;
    return instance;
  }

  /** True if the answer is correct, but the indexer's current answer differs already. */
  async #askOnce(call: Call, instance: Instance): Promise<boolean> {
    const { world, faults, tally, machine, states, purges } = this.#options;
    const written = writeSomehow(call, this.#random);
    const sentAt = Date.now();
    const received = await instance.ask(written);
    const receivedAt = Date.now();
    if (instance.isKilled && received.status === 0) return false;
    tally.count('answers');
    const during = faults.excusesBetween(sentAt, receivedAt);
    const excuses = during.hangs === call.operation ? { ...during, refusals: true } : during;
    const machineDelayMs = machine.ms;
    tally.granted(machineDelayMs);
    const waitedMs = receivedAt - sentAt;
    if (excuses.refusals !== true && waitedMs > LONGEST_WAIT_MS + machineDelayMs)
      this.#found('needless wait', `${waitedMs} ms`, written, received);
    if (received.status !== 200 && received.status !== 404) {
      this.#refused(written, received, excuses, machineDelayMs);
      return false;
    }
    const { 'cache-status': cacheStatus, age } = received.headers;
    const loadedAt = sentAt - (Number(age ?? 0) + 1) * 1000 - machineDelayMs;
    if (String(cacheStatus).startsWith('toncache; hit')) tally.count('hits');
    if (isOfAccount(call)) tally.count('answers about accounts');
    if (call.owner !== undefined) tally.count('answers about owners');
    const databaseLags = excuses.databaseLagMs !== undefined;
    const isPending = call.operation === 'pendingTraces';
    if (databaseLags && isPending && received.status === 200 && isMixed(received.text)) {
      // The emulator may know the end of one trace while the database does not have the other one yet.
      tally.count('mixed lists');
      return false;
    }
    // Extends the chain, so that its states up to now are known.
    void world.chain;
    const name = nameOf(call);
    const isMethod = call.operation === 'runGetMethod';
    // Blocks prove what the indexer has, and nothing proves the state of a lite server.
    const isProven = String(cacheStatus).endsWith('detail=proven');
    const liteLagMs = !isMethod ? 0 : isProven ? indexedAfterMs(call, world.chain) : LITE_SERVER_MS;
    const verdict = checkAnswer(
      { call, sentAt, receivedAt, ...received, cacheStatus: cacheStatus?.toString(), age },
      states.of(call),
      {
        machineDelayMs,
        lagMs:
          liteLagMs +
          lagOf(isServedInstead(cacheStatus) ? faults.excusesBetween(loadedAt, receivedAt) : excuses, isPending),
        falls: isPending || isMethod ? [] : world.falls,
        staleIfError: excuses.refusals === true || machineDelayMs > OVERLOADED_MACHINE_MS,
        notBefore: purges.notBefore(call, instance, sentAt, excuses.cutOff === true, machineDelayMs),
        seenFrom: this.#seenFrom(call, name, { ...received, receivedAt }, excuses, machineDelayMs),
      },
    );
    if (verdict.verdict !== 'true') {
      this.#found(verdict.verdict, `${verdict.reason}`, written, received);
      return false;
    }
    if (isMethod) tally.count('answers of get-methods');
    if (isProven) {
      if (isMethod) tally.count('proven, of get-methods');
      tally.sawProof(this.#place % world.instances.length, receivedAt, verdict.outdatedMs);
      if (call.owner !== undefined) tally.count('proven, about owners');
    }
    tally.sawState(call, verdict.sameSince, received.text, sentAt, receivedAt);
    const comparedMs = comparedForMs(call, received, receivedAt, Number(age ?? 0), machineDelayMs);
    const comparedUntil = receivedAt + comparedMs;
    const before = this.#seen.get(name);
    const fromAt = Math.max(verdict.fromAt, before?.text === received.text ? before.fromAt : verdict.fromAt);
    this.#remember(name, { fromAt, answeredAt: receivedAt, loadedAt, text: received.text, comparedUntil });
    return verdict.isOver && !isMethod;
  }

  /**
   * Some regressions cannot be prevented. Pending traces go back and forth between replicas that differ and loads that
   * overlap, since a trace that is over leaves the list. Neither can an answer be compared with one that was purged, seen
   * too long ago, or lost by both tiers, nor pending transactions with anything.
   */
  #seenFrom(
    call: Call,
    name: string,
    { receivedAt, text }: Pick<Received, 'text'> & { readonly receivedAt: number },
    excuses: Excuses,
    machineDelayMs: number,
  ): number {
    const { lagMs, databaseLagMs, overlaps } = excuses;
    const seen = this.#seen.get(name);
    // An equal answer is no regression for the client. A database that fell back can give it for an older state.
    if (seen === undefined || seen.text === text || call.operation === 'runGetMethod') return Number.NEGATIVE_INFINITY;
    const isPending = call.operation === 'pendingTraces';
    const { world, purges } = this.#options;
    const fall = isPending ? undefined : world.falls.findLast(({ at }) => at <= receivedAt);
    if (fall !== undefined && call.operation === 'masterchainInfo') {
      // The lower head is accepted by now, and the database lacked the newer one when the request was sent.
      const isAccepted = receivedAt >= Math.min(fall.at, seen.fromAt) + HEAD_REGRESSED_MS;
      const lacked = fall.databaseAt(receivedAt - HEAD_LOADS_MS - machineDelayMs) < seen.fromAt;
      if (isAccepted && lacked) return Number.NEGATIVE_INFINITY;
    }
    const isGuarded =
      !isPending &&
      receivedAt <= seen.comparedUntil &&
      !mayReplace(call, seen.text, text) &&
      !world.lost.include({ loadedAt: seen.loadedAt, servedAt: seen.answeredAt }) &&
      !purges.mayHaveDeleted(call, seen.answeredAt, machineDelayMs);
    const goesBack =
      lagMs !== undefined ||
      overlaps === true ||
      (databaseLagMs !== undefined && !isPending) ||
      (fall !== undefined && receivedAt < fall.endsAt);
    return goesBack && !isGuarded ? Number.NEGATIVE_INFINITY : seen.fromAt;
  }

  #remember(name: string, seen: Seen): void {
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MOST_SEEN && oldest !== undefined) this.#seen.delete(oldest);
  }

  #refused(written: Written, received: Received, { refusals }: Excuses, machineDelayMs: number): void {
    if (refusals === true || machineDelayMs > OVERLOADED_MACHINE_MS) this.#options.tally.count('explained refusals');
    else this.#found('needless refusal', `${received.status} ${received.text.slice(0, 200)}`, written, received);
  }

  #found(kind: Finding['kind'], reason: string, { target, headers, body = '' }: Written, received: Received): void {
    const { 'cache-status': cacheStatus, age } = received.headers;
    const at = new Date().toISOString();
    const asked = `${target} ${JSON.stringify(headers)} ${body}`;
    this.#options.tally.found({ kind, text: `${at} ${kind}: ${reason}\n  ${asked}\n  ${cacheStatus}; age ${age}` });
  }
}

/**
 * How far behind the chain the indexers may have been that an answer comes from, ms. One that is served in place of poorer
 * ones is as old as its `Age` and the lag of the indexer that gave it: what lagged between its load and now counts.
 */
function lagOf({ lagMs, databaseLagMs = 0 }: Excuses, isPending: boolean): number {
  return lagMs ?? (isPending ? 0 : databaseLagMs);
}

const isServedInstead = (cacheStatus: unknown) => String(cacheStatus).endsWith('detail=regressed');
