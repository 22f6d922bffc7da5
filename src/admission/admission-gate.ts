import type { FailedRequest } from './concurrency-limit.ts';
import type { AnsweredRequest } from './sample-window.ts';
import type { Priority, QueueRejection, Waiter, WaitQueue } from './wait-queue.ts';

/**
 * How a permit's request ended. Only `answered` tells the latency of a healthy indexer; `heard` that it is there;
 * `ignored` tells nothing, and `left` neither, but the indexer still works on what was given up.
 */
export type PermitOutcome = 'answered' | 'failed' | 'timed-out' | 'heard' | 'left' | 'ignored';

/** The right to have one request under way at the indexer. */
export interface Permit {
  /** The request is sent now: its latency counts from here. */
  sent(): void;
  /** To be called exactly once; more often does nothing. */
  end(outcome: PermitOutcome): void;
}

/** Why no permit was given. `abandoned`: the one who asked stopped waiting. */
export type Rejection = QueueRejection | 'abandoned';

export interface PermitRequest {
  readonly operation: string;
  readonly priority: Priority;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** How many permits may be out, and who learns from how requests went. */
export interface Limit {
  readonly limit: number;
  onAnswer(answered: AnsweredRequest): void;
  onFailure(failed: FailedRequest): void;
  /** Something came from the indexer at this instant, whatever it was. */
  onHeard(at: number): void;
}

export interface AdmissionGateOptions {
  readonly limit: Limit;
  /** The part of the limit that each operation is sure of, 0 to 1; what it does not use is lent to the others. */
  readonly shares: Readonly<Record<string, number>>;
  /** The most of the limit that an operation may have, 0 to 1; the whole of it where nothing is said. */
  readonly caps: Readonly<Record<string, number>>;
  readonly queue: WaitQueue;
  /** How long the permit of a request that was given up stays out: the indexer's query still runs. */
  readonly restAfterTimeoutMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/**
 * Bounds what the indexer has in hand. A freed permit is handed to a waiter and never released to be competed for
 * again, or a newcomer could take it while a waiter goes back to the end of the queue.
 */
export class AdmissionGate {
  readonly #options: AdmissionGateOptions;
  readonly #inUseBy = new Map<string, number>();
  #inUse = 0;
  #grantedLast: string | undefined;

  constructor(options: AdmissionGateOptions) {
    this.#options = options;
  }

  /** Permits out now, those at rest included. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Requests waiting for a permit now. */
  get queued(): number {
    return this.#options.queue.size;
  }

  /** Permits that may be out now. */
  get limit(): number {
    return this.#options.limit.limit;
  }

  /** Whether one who asks now need not wait. */
  hasFree(operation: string): boolean {
    return this.#inUse < this.limit && this.#mayHaveMore(operation);
  }

  /** Waits for a permit until the signal is aborted. Never rejects: not getting one is an expected outcome. */
  async acquire(request: PermitRequest): Promise<Permit | Rejection> {
    if (request.signal.aborted) return 'abandoned';
    return this.hasFree(request.operation) ? this.#grant(request.operation) : this.#wait(request);
  }

  #wait({ operation, priority, signal }: PermitRequest): Promise<Permit | Rejection> {
    const { queue, now } = this.#options;
    const { promise, resolve } = Promise.withResolvers<Permit | Rejection>();
    const settle = (outcome: Permit | Rejection) => {
      signal.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    const waiter: Waiter = {
      operation,
      priority,
      enqueuedAt: now(),
      accept: () => settle(this.#grant(operation)),
      reject: settle,
    };
    const onAbort = () => {
      queue.remove(waiter);
      resolve('abandoned');
    };
    signal.addEventListener('abort', onAbort, { once: true });
    queue.add(waiter, (other) => this.#hasClaim(other));
    return promise;
  }

  #grant(operation: string): Permit {
    const { now, restAfterTimeoutMs } = this.#options;
    this.#count(operation, 1);
    this.#grantedLast = operation;
    let startedAt = now();
    let ended = false;
    return {
      sent: () => {
        startedAt = now();
      },
      end: (outcome) => {
        if (ended) return;
        ended = true;
        this.#learn(operation, outcome, startedAt);
        if (outcome === 'timed-out' || outcome === 'left')
          setTimeout(() => this.#free(operation), restAfterTimeoutMs).unref();
        else this.#free(operation);
      },
    };
  }

  #learn(operation: string, outcome: PermitOutcome, startedAt: number): void {
    const { limit, now } = this.#options;
    const at = now();
    const ended = { operation, latencyMs: at - startedAt, inFlight: this.#inUse, at };
    if (outcome === 'answered') limit.onAnswer(ended);
    else if (outcome === 'heard') limit.onHeard(at);
    else if (outcome === 'failed') limit.onFailure({ ...ended, kind: 'error' });
    else if (outcome === 'timed-out') limit.onFailure({ ...ended, kind: 'timeout' });
  }

  #free(operation: string): void {
    this.#count(operation, -1);
    // The limit may have grown by more than one, or shrunk below what is out.
    while (this.#inUse < this.limit) {
      const next = this.#options.queue.take(
        (candidate) => this.#hasClaim(candidate) || this.#hasTurn(candidate),
        (candidate) => this.#mayHaveMore(candidate),
      );
      if (next === undefined) return;
      next.accept();
    }
  }

  /** Whether an operation has less than the part that it is sure of. */
  #hasClaim(operation: string): boolean {
    return (this.#inUseBy.get(operation) ?? 0) < Math.floor(this.#sureOf(operation));
  }

  /** Where its part is less than a permit an operation is sure of a turn now and then. */
  #hasTurn(operation: string): boolean {
    const sureOf = this.#sureOf(operation);
    const isIdle = (this.#inUseBy.get(operation) ?? 0) === 0;
    return sureOf > 0 && sureOf < 1 && isIdle && operation !== this.#grantedLast;
  }

  #sureOf(operation: string): number {
    return this.limit * (this.#options.shares[operation] ?? 0);
  }

  #mayHaveMore(operation: string): boolean {
    const cap = this.#options.caps[operation] ?? 1;
    return (this.#inUseBy.get(operation) ?? 0) < Math.max(1, Math.floor(this.limit * cap));
  }

  #count(operation: string, change: 1 | -1): void {
    this.#inUse += change;
    this.#inUseBy.set(operation, (this.#inUseBy.get(operation) ?? 0) + change);
  }
}
