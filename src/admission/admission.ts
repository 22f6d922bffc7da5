import type { Backlog } from './backlog.ts';
import type { EndPass, EntryRequest } from './guard.ts';
import type { Outcome, Refusal } from './outcome.ts';
import {
  type Passed,
  SendingGuards,
  type SendingGuardsDependencies,
  type SendingGuardsOptions,
} from './sending-guards.ts';
import type { Slots } from './slots.ts';

/** The right to send one request to the indexer. To be ended exactly once; a second end does nothing. */
export interface Ticket {
  /**
   * To be awaited right before the request is sent: asks memory and guards once more, after waiting for the rate
   * limit if there is one. With any result but `go`, the ticket has ended.
   */
  send(): Sent | Promise<Sent>;
  /** `retryAfter`: the header that came with `rate-limited`. */
  end(outcome: Outcome, retryAfter?: string): void;
}

/** What came of a request to enter. */
export type Entered = Ticket | Refusal | 'abandoned';

type Sent = 'go' | 'abandoned' | Refusal;

export interface AdmissionDependencies extends SendingGuardsDependencies {
  readonly slots: Slots;
  readonly backlog: Backlog;
}

/**
 * The one door to the indexer. A request is refused on arrival, in the same turn of the event loop, or gets a ticket
 * when it is its turn:
 *
 * 1. memory, pause, circuit breaker, rate limit and backlog are asked, without taking anything;
 * 2. it takes a slot, or waits in the backlog for one; a refresh never waits, for a slot or for the rate limit;
 * 3. `ticket.send()` waits for its turn in the rate limit, and takes the passes of pause and circuit breaker.
 *
 * A slot that becomes free is handed to a waiter and never released to be competed for: otherwise a newcomer could take
 * it, and the waiter would go back to the end of the queue.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #sendingGuards: SendingGuards;
  #inFlight = 0;

  constructor(dependencies: AdmissionDependencies, options: SendingGuardsOptions) {
    this.#dependencies = dependencies;
    this.#sendingGuards = new SendingGuards(dependencies, options);
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

  /** How long a miss that comes now would wait for a slot, in milliseconds; 0 while that is not known. */
  expectedWaitMs(operation: string): number {
    return this.#dependencies.backlog.expectedWaitMs(operation) ?? 0;
  }

  /** Whether a request of an operation would get its slot at once. */
  hasFree(operation: string): boolean {
    const { slots, backlog } = this.#dependencies;
    return !backlog.hasWaiting(operation) && slots.mayTake(operation);
  }

  /** Why a request would be refused if it came now; takes nothing. To be called before a client's body is read. */
  refusal(request: EntryRequest): Refusal | undefined {
    return this.#sendingGuards.refusal(request) ?? this.#longWait(request);
  }

  /** Gives a ticket, at once or when a slot becomes free, or says why it is refused. Never rejects. */
  enter(request: EntryRequest): Entered | Promise<Entered> {
    const { slots } = this.#dependencies;
    const { operation, signal } = request;
    if (signal.aborted) return 'abandoned';
    slots.asked(operation);
    const refusal = this.refusal(request);
    if (refusal !== undefined) return refusal;
    return this.hasFree(operation) ? this.#grant(request) : this.#wait(request);
  }

  /** Another client waits for a request that was to enter. */
  join(request: EntryRequest, client: string): void {
    this.#dependencies.backlog.join(request, client);
  }

  #longWait(request: EntryRequest): Refusal | undefined {
    const { backlog } = this.#dependencies;
    const tooFast = this.#sendingGuards.rateRefusal(request, backlog.size);
    if (tooFast !== undefined || this.hasFree(request.operation)) return tooFast;
    if (request.isRefresh === true) return { reason: 'no-free-slot', retryAfterMs: 0 };
    const refused = backlog.refuse(request);
    return refused && { reason: refused.reason, retryAfterMs: refused.expectedWaitMs };
  }

  #wait(request: EntryRequest): Promise<Entered> {
    const { backlog } = this.#dependencies;
    const { operation, clients, signal } = request;
    return new Promise((resolve) => {
      const leave = (outcome: Entered) => {
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const onAbort = () => {
        backlog.remove(request);
        leave('abandoned');
      };
      const retryAfterMs = () => backlog.expectedWaitMs(operation, clients) ?? 0;
      signal.addEventListener('abort', onAbort, { once: true });
      backlog.add({
        request,
        start: () => leave(this.#grant(request)),
        giveUp: () => leave({ reason: 'waited-too-long', retryAfterMs: retryAfterMs() }),
      });
    });
  }

  #grant(request: EntryRequest): Ticket {
    const { slots, backlog } = this.#dependencies;
    const { operation } = request;
    slots.take(operation);
    backlog.slotTime(operation).begin();
    let sent: readonly EndPass[] | undefined;
    let ended = false;
    const end: Ticket['end'] = (outcome, retryAfter) => {
      if (ended) return;
      ended = true;
      for (const endPass of sent ?? []) endPass(outcome, retryAfter);
      if (sent !== undefined) this.#inFlight--;
      backlog.slotTime(operation).end(sent !== undefined);
      this.#release(operation);
    };
    const begin = (passes: Passed): Sent => {
      if (passes === 'abandoned' || 'reason' in passes) {
        end('unsent');
        return passes;
      }
      if (ended) {
        // The ticket was ended while it waited for the rate limit.
        for (const endPass of passes) endPass('unsent');
        return 'abandoned';
      }
      sent = passes;
      this.#inFlight++;
      return 'go';
    };
    const send: Ticket['send'] = () => {
      const passes = this.#sendingGuards.pass(request);
      return passes instanceof Promise ? passes.then(begin) : begin(passes);
    };
    return { send, end };
  }

  #release(operation: string): void {
    const { slots, backlog } = this.#dependencies;
    slots.release(operation);
    for (;;) {
      const next = backlog.next(
        (candidate) => slots.mayTake(candidate),
        (candidate) => slots.isBelowShare(candidate),
      );
      if (next === undefined) return;
      next.start();
    }
  }
}
