import type { Backlog, Waiter } from './backlog.ts';
import type { EntryRequest, Pass } from './guard.ts';
import { HeldSlots } from './held-slots.ts';
import { isAnswer, isGivenUp, type Outcome, type Refusal } from './outcome.ts';
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
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface AdmissionOptions extends SendingGuardsOptions {
  /** For at least so long the slot of an abandoned request stays taken, in milliseconds: see {@link HeldSlots}. */
  readonly holdAfterTimeoutMs: number;
}

/**
 * The one door to the indexer. A request is refused on arrival, in the same turn of the event loop, or gets a ticket
 * when it is its turn:
 *
 * 1. memory, pause, circuit breaker, rate limit and backlog are asked, without taking anything;
 * 2. it takes a slot, or waits in the backlog for one;
 * 3. `ticket.send()` waits for its turn in the rate limit, and takes the passes of pause and circuit breaker.
 *
 * A slot that becomes free is handed to a waiter and never released to be competed for: otherwise a newcomer could take
 * it, and the waiter would go back to the end of the queue.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  readonly #sendingGuards: SendingGuards;
  readonly #waiters = new Map<EntryRequest, Waiter>();
  readonly #heldSlots: HeldSlots;
  #inFlight = 0;

  constructor(dependencies: AdmissionDependencies, options: AdmissionOptions) {
    this.#dependencies = dependencies;
    this.#sendingGuards = new SendingGuards(dependencies, options);
    const release = (operation: string) => this.#release(operation);
    this.#heldSlots = new HeldSlots({ release }, { holdMs: options.holdAfterTimeoutMs });
  }

  /** The number of requests that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of slots taken: by requests with a ticket, and by abandoned ones ({@link HeldSlots}). */
  get slotsInUse(): number {
    return this.#dependencies.slots.inUse;
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    return this.#dependencies.backlog.size;
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

  /** Raises the priority of a waiting refresh: a client waits for it from now on. */
  raise(request: EntryRequest): void {
    const waiter = this.#waiters.get(request);
    if (waiter !== undefined) this.#dependencies.backlog.raise(waiter);
  }

  #longWait(request: EntryRequest): Refusal | undefined {
    const { backlog } = this.#dependencies;
    const { operation, priority } = request;
    const tooFast = this.#sendingGuards.rateRefusal(request, backlog.size);
    if (tooFast !== undefined || this.hasFree(operation)) return tooFast;
    const refused = backlog.refuse(operation, priority);
    return refused && { reason: refused.reason, retryAfterMs: refused.expectedWaitMs };
  }

  #wait(request: EntryRequest): Promise<Entered> {
    const { backlog } = this.#dependencies;
    const { operation, priority, signal } = request;
    return new Promise((resolve) => {
      const leave = (outcome: Entered) => {
        this.#waiters.delete(request);
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const waiter: Waiter = {
        operation,
        priority,
        start: () => leave(this.#grant(request)),
        giveUp: () => leave({ reason: 'waited-too-long', retryAfterMs: this.expectedWaitMs(operation) }),
      };
      const onAbort = () => {
        backlog.remove(waiter);
        leave('abandoned');
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.set(request, waiter);
      backlog.add(waiter);
    });
  }

  #grant(request: EntryRequest): Ticket {
    const { slots, now } = this.#dependencies;
    const { operation } = request;
    slots.take(operation);
    let sent: { readonly passes: readonly Pass[]; readonly at: number } | undefined;
    let ended = false;
    const end: Ticket['end'] = (outcome, retryAfter) => {
      if (ended) return;
      ended = true;
      for (const pass of sent?.passes ?? []) pass.end(outcome, retryAfter);
      if (sent !== undefined) this.#inFlight--;
      if (isAnswer(outcome)) this.#heldSlots.heard(operation, now());
      if (sent !== undefined && isGivenUp(outcome)) {
        this.#heldSlots.hold(operation, { sentAt: sent.at, endedAt: now() });
      } else {
        this.#release(operation);
      }
    };
    const begin = (passes: Passed): Sent => {
      if (passes === 'abandoned' || 'reason' in passes) {
        end('unsent');
        return passes;
      }
      if (ended) {
        // The ticket was ended while it waited for the rate limit.
        for (const pass of passes) pass.end('unsent');
        return 'abandoned';
      }
      sent = { passes, at: now() };
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
