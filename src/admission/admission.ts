import type { Ms } from '../time-units.ts';
import type { Backlog } from './backlog.ts';
import type { EndPass, EntryRequest, Guard } from './guard.ts';
import type { Outcome, Refusal } from './outcome.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Slots } from './slots.ts';

/** The right to send one request to the indexer. To be ended exactly once; a second end does nothing. */
export interface Ticket {
  /**
   * To be awaited right before the request is sent: asks memory and guards once more, after waiting for the rate
   * limit if there is one. With any result but `go`, the ticket has ended. Never rejects.
   */
  send(): Promise<Sent>;
  /** `retryAfter`: the header that came with `rate-limited`. */
  end(outcome: Outcome, retryAfter?: string): void;
}

/** What came of a request to enter. */
export type Entered = Ticket | Refusal | 'abandoned';

type Sent = 'go' | 'abandoned' | Refusal;

export interface AdmissionDependencies {
  readonly slots: Slots;
  readonly backlog: Backlog;
  /** Whether this process has hardly any memory left. */
  readonly isMemoryFull: () => boolean;
  /** The pause and circuit breaker that apply to a request, in the order in which they are asked. */
  readonly guardsOf: (request: EntryRequest) => readonly Guard[];
  /** Absent when the rate is not limited. */
  readonly rate: RateLimit | undefined;
}

export interface AdmissionOptions {
  /** A request that would wait longer than this for the rate limit is refused. */
  readonly patienceMs: Ms;
}

/**
 * The one door to the indexer. A request is refused on arrival, in the same turn of the event loop, or gets a ticket
 * when it is its turn:
 *
 * 1. memory, pause, circuit breaker, rate limit and backlog are asked, without taking anything;
 * 2. it takes a slot, or waits in the backlog for one; a refresh never waits, for a slot or for the rate limit;
 * 3. `ticket.send()` asks memory, pause and circuit breaker again, waits for its turn in the rate limit, and takes the
 *    passes of pause and circuit breaker.
 *
 * A slot that becomes free is handed to a waiter and never released to be competed for: otherwise a newcomer could take
 * it, and the waiter would go back to the end of the queue.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #options: AdmissionOptions;
  #inFlight = 0;

  constructor(dependencies: AdmissionDependencies, options: AdmissionOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** The number of requests that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of slots taken. */
  get slotsInUse(): number {
    return this.#dependencies.slots.inUse;
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    return this.#dependencies.backlog.size;
  }

  /** Whom each of them waits for. */
  waitingClients(): Iterable<Iterable<string>> {
    return this.#dependencies.backlog.clients();
  }

  /** The number of slots in all. */
  get limit(): number {
    return this.#dependencies.slots.max;
  }

  /** How long a miss that comes now would wait for a slot; 0 while that is not known. */
  expectedWaitMs(operation: string): Ms {
    return this.#dependencies.backlog.expectedWaitMs(operation);
  }

  /** Why a request would be refused if it came now; takes nothing. To be called before a client's body is read. */
  refusal(request: EntryRequest): Refusal | undefined {
    const { backlog } = this.#dependencies;
    const closed = this.#closed(request);
    if (closed !== undefined) return closed;
    const rateWaitMs = this.#rateFor(request)?.expectedWaitMs(backlog.size) ?? 0;
    if (rateWaitMs > this.#ratePatienceMs(request)) return { reason: 'rate-limit', retryAfterMs: rateWaitMs };
    if (this.#hasFreeSlot(request)) return undefined;
    return request.isRefresh === true ? { reason: 'no-free-slot', retryAfterMs: 0 } : backlog.refuse(request);
  }

  /** Gives a ticket, at once or when a slot becomes free, or says why it is refused. Never rejects. */
  async enter(request: EntryRequest): Promise<Entered> {
    const { slots, backlog } = this.#dependencies;
    const { operation, signal } = request;
    if (signal.aborted) return 'abandoned';
    slots.asked(operation);
    const refusal = this.refusal(request);
    if (refusal !== undefined) return refusal;
    if (this.#hasFreeSlot(request)) {
      slots.take(operation);
      return this.#ticket(request);
    }
    const waited = await backlog.wait(request);
    return waited === 'slot' ? this.#ticket(request) : waited;
  }

  /** Another client waits for a request that was to enter. */
  join(request: EntryRequest, client: string): void {
    this.#dependencies.backlog.join(request, client);
  }

  #hasFreeSlot({ operation }: EntryRequest): boolean {
    const { slots, backlog } = this.#dependencies;
    return !backlog.hasWaiting(operation) && slots.mayTake(operation);
  }

  /** Why memory, pause or circuit breaker would refuse a request now; takes nothing. */
  #closed(request: EntryRequest): Refusal | undefined {
    const { isMemoryFull, guardsOf } = this.#dependencies;
    if (isMemoryFull()) return { reason: 'memory', retryAfterMs: 0 };
    const guard = guardsOf(request).find(({ isOpen }) => isOpen);
    return guard && { reason: guard.reason, retryAfterMs: guard.retryAfterMs };
  }

  #ticket(request: EntryRequest): Ticket {
    const { slots, backlog } = this.#dependencies;
    let passes: readonly EndPass[] | undefined;
    let hasEnded = false;
    const end: Ticket['end'] = (outcome, retryAfter) => {
      if (hasEnded) return;
      hasEnded = true;
      for (const endPass of passes ?? []) endPass(outcome, retryAfter);
      if (passes !== undefined) this.#inFlight--;
      slots.release(request.operation, passes !== undefined);
      backlog.handOut();
    };
    const send = async (): Promise<Sent> => {
      const stopped = await this.#waitForRate(request);
      const taken = stopped ?? this.#takePasses(request);
      if (taken === 'abandoned' || 'reason' in taken) {
        end('unsent');
        return taken;
      }
      passes = taken;
      this.#inFlight++;
      return 'go';
    };
    return { send, end };
  }

  /** Resolves with `undefined` when the request may go on. */
  async #waitForRate(request: EntryRequest): Promise<'abandoned' | Refusal | undefined> {
    if (request.signal.aborted) return 'abandoned';
    const closed = this.#closed(request);
    if (closed !== undefined) return closed;
    const taken = await this.#rateFor(request)?.take(request.signal, this.#ratePatienceMs(request));
    if (taken === undefined || taken === 'go') return undefined;
    return taken === 'abandoned' ? taken : { reason: 'rate-limit', retryAfterMs: taken.waitMs };
  }

  #takePasses(request: EntryRequest): readonly EndPass[] | Refusal {
    const passes: EndPass[] = [];
    for (const guard of this.#dependencies.guardsOf(request)) {
      const pass = guard.admit(request.key);
      if (pass === undefined) {
        for (const endPass of passes) endPass('unsent');
        return { reason: guard.reason, retryAfterMs: guard.retryAfterMs };
      }
      passes.push(pass);
    }
    return passes;
  }

  #rateFor({ withClientKey }: EntryRequest): RateLimit | undefined {
    return withClientKey === true ? undefined : this.#dependencies.rate;
  }

  /** A refresh gets only what misses leave of the rate. */
  #ratePatienceMs({ isRefresh }: EntryRequest): Ms {
    return isRefresh === true ? 0 : this.#options.patienceMs;
  }
}
