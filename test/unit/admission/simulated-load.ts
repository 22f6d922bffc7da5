import { Admission, type Ticket } from '../../../src/admission/admission.ts';
import { Backlog } from '../../../src/admission/backlog.ts';
import type { Refusal } from '../../../src/admission/guard.ts';
import { FIRST_TRY } from '../../../src/admission/lane.ts';
import { RateLimit, type ReserveShared } from '../../../src/admission/rate-limit.ts';
import { Slots } from '../../../src/admission/slots.ts';
import { type FleetRoute, Routes } from '../../../src/fleet/routes.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { sentFor } from '../../support/sent-for.ts';
import { passTime } from '../../support/simulated-clock.ts';

/** The indexer of a simulation: workers that each take one request at a time, first come, first served. */
export interface SimulatedIndexer {
  workers: number;
  /** How long a request of an operation takes, and of a client, in milliseconds. */
  serviceMs: (operation: string, random: SeededRandom, client?: string) => number;
  /** Operations that do not share the workers; their requests take their time side by side. */
  apart?: readonly string[];
}

/** What became of the requests of one operation, or of those that are counted under a name. */
export interface Counts {
  served: number;
  refused: number;
  timedOut: number;
  /** From a request to its end, in milliseconds. */
  readonly latencies: number[];
  /** From a request until it was sent, in milliseconds. */
  readonly waits: number[];
  /** From a request to its refusal, in milliseconds. */
  readonly refusalLatencies: number[];
  /** When requests were refused. */
  readonly refusedAt: number[];
  readonly servedAt: number[];
}

export interface SimulatedLoadOptions {
  readonly indexer: SimulatedIndexer;
  /** As shipped, unless a test is about another value. */
  readonly maxConcurrency?: number;
  readonly patienceMs?: number;
  /** Requests a second; not limited when absent. */
  readonly perSecond?: number;
  /** Shares the rate with other loads. */
  readonly reserveShared?: ReserveShared;
  readonly seed?: string;
}

/** As shipped. */
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
  /** When requests were sent to the indexer. */
  readonly sentAt: number[] = [];
  /** The most requests that were at the indexer at once. */
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
    const routes = new Routes(() => 0, [route], { passThrough: [{ ...route, slots: passThroughSlots }] });
    const backlog = new Backlog({ now, routes, ...SHIPPED, patienceMs });
    this.admission = new Admission({ routes, backlog, memory: { refusesLoads: false } });
  }

  /** So many requests at this moment. */
  burst(count: number, operation = 'pendingTraces'): void {
    for (let n = 0; n < count; n++) void this.ask(operation);
  }

  /** Requests by chance at this mean rate, for so long, whatever becomes of them; counted under this name. */
  openLoop(perSecond: number, durationMs: number, operation = 'pendingTraces', client = 'one', name = operation): void {
    for (let atMs = 0; ; ) {
      atMs -= (Math.log(1 - this.#random.next()) * 1000) / perSecond;
      if (atMs >= durationMs) return;
      setTimeout(() => void this.ask(operation, client, name), atMs);
    }
  }

  /** Requests of one client that each are followed by the next as soon as answered, and 100 ms after a refusal. */
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

  /** A client that asks for so many things at once, and for the next ones so long after their end. */
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

  /** So many requests of a client a second, evenly, which it leaves after so long. */
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

  /** Lets time pass, timers and all that follows from them. */
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

  /** One request of a client; whether it was served. */
  async ask(operation: string, client = 'one', name = operation, leaving?: AbortSignal): Promise<boolean> {
    const counts = this.of(name);
    const sentAt = performance.now();
    const key = `key ${this.#keys++}`;
    const ticket = await this.admission.enter({
      operation,
      key,
      clients: [client],
      lane: FIRST_TRY,
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

/** The smallest latency that `part` (0 to 1) of all are not above. */
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
