import { Admission } from '../../../src/admission/admission.ts';
import type { Refusal } from '../../../src/admission/guard.ts';
import { RateLimit, type ReserveShared } from '../../../src/admission/rate-limit.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { Slots } from '../../../src/admission/slots.ts';
import type { Ticket } from '../../../src/admission/ticket.ts';
import { type FleetRoute, Routes } from '../../../src/fleet/routes.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { sentFor } from '../../support/sent-for.ts';
import { passTime } from '../../support/simulated-clock.ts';

/** The indexer of a simulation: workers that each take one request at a time, first come, first served. */
export interface SimulatedIndexer {
  workers: number;
  /** The service time of a request in milliseconds, by operation and client. */
  serviceMs: (operation: string, random: SeededRandom, client?: string) => number;
  /** Operations that do not use the workers: any number of their requests run in parallel. */
  apart?: readonly string[];
}

/** The results of the requests of one operation, or of those that are counted under one name. */
export interface Counts {
  served: number;
  refused: number;
  timedOut: number;
  /** Milliseconds from each served request to its answer. */
  readonly latencies: number[];
  /** Milliseconds from each request until it was sent to the indexer. */
  readonly waits: number[];
  /** Milliseconds from each request to its refusal. */
  readonly refusalLatencies: number[];
  readonly refusedAt: number[];
  readonly servedAt: number[];
}

export interface SimulatedLoadOptions {
  readonly indexer: SimulatedIndexer;
  /** Without a value, the default of the setting. */
  readonly maxConcurrency?: number;
  readonly patienceMs?: number;
  /** Requests a second; unlimited when absent. */
  readonly perSecond?: number;
  /** Set if the load shares the rate with other loads. */
  readonly reserveShared?: ReserveShared;
  readonly seed?: string;
}

/** The default settings. */
const SHIPPED = {
  maxConcurrency: 64,
  patienceMs: 1500,
  shortPatienceMs: 100,
  maxWaiting: 10_000,
  timeoutMs: 5000,
  shares: { pendingTraces: 0.4, adjacentTransactions: 0.3, masterchainBlockShards: 0.2 },
  passThroughConcurrency: 32,
};

/** Clients, the real admission and a simulated indexer, on the simulated clock. */
export class SimulatedLoad {
  readonly admission: Admission;
  readonly slots: Slots;
  readonly indexer: SimulatedIndexer;
  readonly counts = new Map<string, Counts>();
  /** The instants at which requests were sent to the indexer. */
  readonly sentAt: number[] = [];
  /** The maximum number of concurrent requests at the indexer. */
  mostAtIndexer = 0;
  readonly #random: SeededRandom;
  #atIndexer = 0;
  #busy = 0;
  readonly #queue: (() => void)[] = [];
  #keys = 0;

  constructor({ indexer, seed = 'load', perSecond, reserveShared, ...options }: SimulatedLoadOptions) {
    const now = () => performance.now();
    const { maxConcurrency, patienceMs } = { ...SHIPPED, ...options };
    this.indexer = indexer;
    this.#random = new SeededRandom(seed);
    this.slots = new Slots({ now, ...SHIPPED, max: maxConcurrency, patienceMs });
    const rate =
      perSecond === undefined ? undefined : new RateLimit({ now, perSecond, reserveShared, longestWaitMs: patienceMs });
    const route: FleetRoute = { index: 0, isBackup: false, slots: this.slots, rate, guards: new Map() };
    const passThroughSlots = new Slots({ now, max: SHIPPED.passThroughConcurrency, shares: {}, patienceMs });
    const routes = new Routes(() => 0, [route], { passthrough: [{ ...route, slots: passThroughSlots }] });
    this.admission = new Admission({ now, routes, memory: { refusesLoads: false }, ...SHIPPED, patienceMs });
  }

  /** Sends `count` requests at once. */
  burst(count: number, operation = 'pendingTraces'): void {
    for (let n = 0; n < count; n++) void this.ask(operation);
  }

  /**
   * Sends requests at random times at this mean rate for `durationMs`, whatever their results; counted under `name`.
   */
  openLoop(perSecond: number, durationMs: number, operation = 'pendingTraces', client = 'one', name = operation): void {
    for (let atMs = 0; ; ) {
      atMs -= (Math.log(1 - this.#random.next()) * 1000) / perSecond;
      if (atMs >= durationMs) return;
      setTimeout(() => void this.ask(operation, client, name), atMs);
    }
  }

  /**
   * Keeps `requests` requests of one client under way: each is followed by the next one immediately after an answer, or
   * 100 ms after a refusal.
   */
  closedLoop(
    requests: number,
    durationMs: number,
    operation = 'pendingTraces',
    client = 'one',
    name = operation,
  ): void {
    const untilAt = performance.now() + durationMs;
    const again = async (): Promise<void> => {
      while (performance.now() < untilAt) {
        const served = await this.ask(operation, client, name);
        if (!served) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    for (let n = 0; n < requests; n++) void again();
  }

  /** A client that sends `atOnce` requests at once, and the next ones `breakMs` after all of them have ended. */
  async takingBreaks(
    breakMs: number,
    durationMs: number,
    operation: string,
    client: string,
    name: string,
    atOnce = 1,
  ): Promise<void> {
    const untilAt = performance.now() + durationMs;
    while (performance.now() < untilAt) {
      await Promise.all(Array.from({ length: atOnce }, () => this.ask(operation, client, name)));
      await new Promise((resolve) => setTimeout(resolve, breakMs));
    }
  }

  /**
   * Sends `perSecond` requests a second of one client at even intervals; the client leaves each after `leavesAfterMs`.
   */
  comingAndGoing(
    perSecond: number,
    leavesAfterMs: number,
    durationMs: number,
    operation: string,
    client: string,
  ): void {
    for (let atMs = 0; atMs < durationMs; atMs += 1000 / perSecond) {
      setTimeout(() => {
        const leaving = new AbortController();
        setTimeout(() => leaving.abort(), leavesAfterMs);
        void this.ask(operation, client, client, leaving.signal);
      }, atMs);
    }
  }

  /** Lets simulated time pass, and runs the timers that are due. */
  async run(ms: number): Promise<void> {
    await passTime(ms);
  }

  of(name = 'pendingTraces'): Counts {
    const known = this.counts.get(name);
    if (known !== undefined) return known;
    const counts: Counts = {
      served: 0,
      refused: 0,
      timedOut: 0,
      latencies: [],
      waits: [],
      refusalLatencies: [],
      refusedAt: [],
      servedAt: [],
    };
    this.counts.set(name, counts);
    return counts;
  }

  /** Sends one request of a client; resolves with `true` if it was served. */
  async ask(operation: string, client = 'one', name = operation, leaving?: AbortSignal): Promise<boolean> {
    const counts = this.of(name);
    const sentAt = performance.now();
    const key = `key ${this.#keys++}`;
    const ticket = await this.admission.enter({
      operation,
      key,
      clients: [client],
      ...FIRST_TRY,
      sentFor: sentFor(leaving),
    });
    if (!isTicket(ticket)) {
      counts.refused++;
      counts.refusedAt.push(performance.now());
      counts.refusalLatencies.push(performance.now() - sentAt);
      return false;
    }
    if (ticket.send() !== 'go') return false;
    this.sentAt.push(performance.now());
    counts.waits.push(performance.now() - sentAt);
    const served = await this.#atTheIndexer(operation, client);
    ticket.learn(served ? 'answered' : 'failed');
    ticket.free();
    if (!served) counts.timedOut++;
    else {
      counts.served++;
      counts.servedAt.push(performance.now());
      counts.latencies.push(performance.now() - sentAt);
    }
    return served;
  }

  #atTheIndexer(operation: string, client: string): Promise<boolean> {
    this.mostAtIndexer = Math.max(this.mostAtIndexer, ++this.#atIndexer);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), SHIPPED.timeoutMs);
    const shares = this.indexer.apart?.includes(operation) !== true;
    const work = () => {
      if (shares) this.#busy++;
      setTimeout(
        () => {
          if (shares) this.#busy--;
          this.#atIndexer--;
          clearTimeout(timer);
          resolve(true);
          this.#workOn();
        },
        this.indexer.serviceMs(operation, this.#random, client),
      );
    };
    if (shares) this.#queue.push(work);
    else work();
    this.#workOn();
    return promise;
  }

  #workOn(): void {
    while (this.#busy < this.indexer.workers) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      next();
    }
  }
}

/** The latency at the quantile `part`, 0 to 1. */
export function quantile(latencies: readonly number[], part: number): number {
  const sorted = latencies.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
}

/** A service time of this mean, plus or minus 30 %. */
export function about(meanMs: number): SimulatedIndexer['serviceMs'] {
  return (_, random) => Math.max(1, Math.round(meanMs * (0.7 + 0.6 * random.next())));
}

function isTicket(entered: Ticket | Refusal): entered is Ticket {
  return !('reason' in entered);
}
