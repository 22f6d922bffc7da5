import { ProxyError } from '../errors.ts';
import type { FlightWaiter } from '../once/single-flight.ts';
import type { Ms } from '../time-units.ts';

/**
 * The wait of one request that memory could not answer. It ends at its deadline (`upstream-timeout`), when its client
 * leaves (`client-left`), when the process shuts down (`shutting-down`), or with its answer ({@link close}).
 */
export class Wait implements FlightWaiter {
  /** Why the wait ended without an answer; `undefined` while it lasts, and after an answer. */
  reason: ProxyError | undefined;
  onEnd: (() => void) | undefined;
  readonly client: string | undefined;
  readonly #open: Wait[];
  /** Its place in them; -1 once it has ended. */
  #place: number;
  readonly #timer: NodeJS.Timeout;
  #abort: AbortController | undefined;

  /** `client`: whom it is for; absent for a refresh. */
  constructor(open: Wait[], timeoutMs: Ms, client: string | undefined) {
    this.client = client;
    this.#open = open;
    // Cheap: Node keeps all timers of one duration in one ordered list behind a single system timer.
    this.#timer = setTimeout(onDeadline, timeoutMs, this).unref();
    this.#place = open.push(this) - 1;
  }

  get isAbandoned(): boolean {
    return this.reason !== undefined;
  }

  /** For code that needs a signal. Made on first use: it costs more than the wait itself. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.reason !== undefined) this.#abort.abort(this.reason);
    return this.#abort.signal;
  }

  /** Ends the wait without an answer. Does nothing when it has ended already. */
  end(reason: ProxyError): void {
    if (this.#place < 0) return;
    this.close();
    this.reason = reason;
    this.onEnd?.();
    this.#abort?.abort(reason);
  }

  /** Ends the wait with its answer. */
  close(): void {
    if (this.#place < 0) return;
    clearTimeout(this.#timer);
    // Not a set, which leaves tables that hold waits until the next full collection.
    const last = this.#open.pop();
    if (last !== undefined && last !== this) {
      this.#open[this.#place] = last;
      last.#place = this.#place;
    }
    this.#place = -1;
  }
}

function onDeadline(wait: Wait): void {
  wait.end(new ProxyError('upstream-timeout', 'the indexer did not answer in time'));
}

/** The waits that are open now, each with the same timeout. */
export class OpenWaits {
  readonly #timeoutMs: Ms;
  readonly #open: Wait[] = [];

  /** `timeoutMs`: how long a request may wait for its answer. */
  constructor(timeoutMs: Ms) {
    this.#timeoutMs = timeoutMs;
  }

  /** Begins a wait; `client`: whom it is for. */
  open(client?: string): Wait {
    return new Wait(this.#open, this.#timeoutMs, client);
  }

  /** Ends every wait with a 503. */
  endAll(): void {
    const reason = new ProxyError('shutting-down', 'the proxy is shutting down', { retryAfterSeconds: 1 });
    for (const wait of [...this.#open]) wait.end(reason);
  }
}
