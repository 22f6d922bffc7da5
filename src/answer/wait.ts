import { failure, type ProxyError } from '../errors.ts';
import type { FlightWaiter } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';

/**
 * The wait of one request that memory could not answer. It ends at its deadline (`upstream-timeout`), when its client
 * disconnects (`client-closed-request`), when the process shuts down (`shutting-down`), or with its answer ({@link
 * close}).
 */
export class Wait implements FlightWaiter {
  /** Why the wait ended without an answer; `undefined` while it lasts, and after an answer. */
  reason: ProxyError | undefined;
  onEnd: (() => void) | undefined;
  readonly client: string | undefined;
  readonly id: string | undefined;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #abort: AbortController | undefined;

  /** `client`: the client that waits; `id`: of its request; both absent for a refresh. */
  constructor(timeoutMs: Ms, client?: string, id?: string) {
    this.client = client;
    this.id = id;
    // Cheap: Node keeps all timers of one duration in one ordered list behind a single system timer.
    this.#timer = setTimeout(onDeadline, timeoutMs, this).unref();
  }

  get isAbandoned(): boolean {
    return this.reason !== undefined;
  }

  /** For code that needs a signal. Created on first use: it costs more than the wait itself. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.reason !== undefined) this.#abort.abort(this.reason);
    return this.#abort.signal;
  }

  /** Ends the wait without an answer. Does nothing if it has already ended. */
  end(reason: ProxyError): void {
    if (this.#isOver) return;
    this.close();
    this.reason = reason;
    this.onEnd?.();
    this.#abort?.abort(reason);
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

function onDeadline(wait: Wait): void {
  wait.end(failure('upstream-timeout'));
}
