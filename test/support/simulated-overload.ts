import { ConcurrencyLimit, type ConcurrencyLimitOptions } from '../../src/admission/concurrency-limit.ts';
import { SeededRandom } from '../../src/simulator/seeded-random.ts';
import { type ServiceTime, SimulatedTime, SimulatedUpstream } from './simulated-upstream.ts';

/** One kind of request: its part of the load and what it costs, which may change under way. */
export interface SimulatedOperation {
  readonly operation: string;
  share: number;
  serviceTime: ServiceTime;
}

export interface SimulatedOverloadOptions {
  readonly limit: ConcurrencyLimitOptions;
  readonly workers: number;
  readonly operations: readonly SimulatedOperation[];
  readonly seed?: string;
  /** This part of all requests ends in a 5xx, whatever the load. */
  readonly failingShare?: number;
  /** Another proxy before the same upstream, at the same time; `workers` says nothing then. */
  readonly beside?: SimulatedOverload | undefined;
}

/** What one stretch of simulated time looked like. */
export interface Stretch {
  /** Answers a second. */
  readonly goodput: number;
  readonly meanLimit: number;
  readonly lowestLimit: number;
  readonly highestLimit: number;
  readonly meanInHand: number;
  readonly highestInHand: number;
}

const TIMEOUT_MS = 5000;
/** Upstream works on after a timeout, so its permit rests before it is used again. */
const REST_MS = 1000;
const MAX_WAITING = 200;
/** A client that was shed tries again after this. */
const RETRY_MS = 100;

/** Clients, the gate with its limit, and the upstream, in simulated time. */
export class SimulatedOverload {
  readonly limit: ConcurrencyLimit;
  readonly upstream: SimulatedUpstream;
  readonly #time: SimulatedTime;
  readonly #random: SeededRandom;
  readonly #options: SimulatedOverloadOptions;
  readonly #samples: { readonly at: number; readonly limit: number; readonly inHand: number }[] = [];
  readonly #answeredAt: number[] = [];
  #permits = 0;
  readonly #waiting: (() => void)[] = [];
  #arrivalsPerSecond = 0;

  constructor(options: SimulatedOverloadOptions) {
    this.#options = options;
    this.#random = new SeededRandom('overload', options.seed ?? '');
    const { beside } = options;
    this.#time = beside === undefined ? new SimulatedTime() : beside.#time;
    this.upstream = beside?.upstream ?? new SimulatedUpstream(this.#time, options.workers);
    this.limit = new ConcurrencyLimit(options.limit);
    this.#sample();
  }

  /** Open loop: requests arrive by chance at this mean rate, whatever becomes of them. */
  arrive(perSecond: number): void {
    const begin = this.#arrivalsPerSecond === 0;
    this.#arrivalsPerSecond = perSecond;
    if (begin) this.#nextArrival();
  }

  /** Closed loop: each client asks again as soon as it is answered. */
  addClients(count: number): void {
    for (let n = 0; n < count; n++) {
      const again = () => this.#time.after(0, () => this.#request(again));
      again();
    }
  }

  /** Lets time pass, and says what it looked like. */
  run(ms: number): Stretch {
    const fromAt = this.#time.now;
    this.#time.runUntil(fromAt + ms);
    return this.look(fromAt, fromAt + ms);
  }

  /** What a stretch of the past looked like. */
  look(fromAt: number, untilAt: number): Stretch {
    const within = this.#samples.filter(({ at }) => at >= fromAt && at < untilAt);
    const limits = within.map(({ limit }) => limit);
    const inHand = within.map((sample) => sample.inHand);
    const answers = this.#answeredAt.filter((at) => at >= fromAt && at < untilAt).length;
    return {
      goodput: (answers * 1000) / (untilAt - fromAt),
      meanLimit: mean(limits),
      lowestLimit: Math.min(...limits),
      highestLimit: Math.max(...limits),
      meanInHand: mean(inHand),
      highestInHand: Math.max(...inHand),
    };
  }

  #sample(): void {
    this.#samples.push({ at: this.#time.now, limit: this.limit.limit, inHand: this.upstream.inHand });
    this.#time.after(10, () => this.#sample());
  }

  #nextArrival(): void {
    if (this.#arrivalsPerSecond === 0) return;
    this.#time.after((-Math.log(1 - this.#random.next()) * 1000) / this.#arrivalsPerSecond, () => {
      this.#request(() => {});
      this.#nextArrival();
    });
  }

  #request(onEnd: () => void): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(() => this.#send(onEnd));
    else this.#time.after(RETRY_MS, onEnd);
    this.#admit();
  }

  #admit(): void {
    while (this.#permits < this.limit.limit && this.#waiting.length > 0) {
      this.#permits++;
      this.#waiting.shift()?.();
    }
  }

  #send(onEnd: () => void): void {
    const { operation, serviceTime } = this.#draw();
    const sentAt = this.#time.now;
    let ended = false;
    const end = (restMs: number) => {
      ended = true;
      this.#time.after(restMs, () => {
        this.#permits--;
        this.#admit();
      });
      onEnd();
    };
    this.#time.after(TIMEOUT_MS, () => {
      if (ended) return;
      const at = this.#time.now;
      this.limit.onFailure({ kind: 'timeout', operation, latencyMs: TIMEOUT_MS, inFlight: this.#permits, at });
      end(REST_MS);
    });
    const fails = this.#random.chance(this.#options.failingShare ?? 0);
    this.upstream.submit(
      () => serviceTime(this.#random),
      () => {
        if (ended) return;
        const at = this.#time.now;
        const latencyMs = at - sentAt;
        if (fails) {
          this.limit.onFailure({ kind: 'error', operation, latencyMs, inFlight: this.#permits, at });
        } else {
          this.#answeredAt.push(at);
          this.limit.onAnswer({ operation, latencyMs, inFlight: this.#permits, at });
        }
        end(0);
      },
    );
  }

  #draw(): SimulatedOperation {
    const { operations } = this.#options;
    let left = this.#random.next() * operations.reduce((sum, { share }) => sum + share, 0);
    for (const operation of operations) {
      left -= operation.share;
      if (left < 0) return operation;
    }
    return this.#random.pick(operations);
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
