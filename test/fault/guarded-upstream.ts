import type { Outcome } from '../../src/admission/outcome.ts';
import { outcomeOf } from '../../src/answer/outcome-of.ts';
import { loadSettings } from '../../src/config/load.ts';
import { ProxyError } from '../../src/errors.ts';
import { EventHub } from '../../src/event-hub.ts';
import { RETRIES, RetryBudget } from '../../src/indexer/retry-budget.ts';
import { openIndexers } from '../../src/open-indexers.ts';
import type { Indexer } from '../../src/tools/simulator/indexer.ts';

export type Operation = 'pendingTraces' | 'adjacentTransactions' | 'masterchainBlockShards';

/** How a call ended: a status, a failure's code, or why it was not sent. */
export type Ended = number | string;

/** The way to an indexer as the proxy opens it, on a clock that a test turns. */
export class GuardedUpstream implements AsyncDisposable {
  /** What the clock shows, in milliseconds. */
  nowMs = 1_700_000_000_000;
  /** States of circuit breakers as they changed. */
  readonly transitions: { readonly operation: string; readonly state: string }[] = [];
  readonly #opened: ReturnType<typeof openIndexers>;
  readonly #budget: RetryBudget;
  /** Of a block that exists. */
  readonly #seqno: string;
  #calls = 0;

  constructor(indexer: Indexer, { timeout = '5s' } = {}) {
    this.#seqno = `${indexer.chain.headSeqno}`;
    const now = () => this.nowMs;
    const { settings } = loadSettings({ UPSTREAM_URL: indexer.url, UPSTREAM_TIMEOUT: timeout, UPSTREAM_RPS: '1000' });
    const events = new EventHub();
    events.subscribe((event) => {
      if (event.name === 'breaker') this.transitions.push({ operation: event.operation, state: event.state });
    });
    this.#opened = openIndexers(
      { settings, events, now, monotonic: now, random: () => 0 },
      { scripting: undefined, makeRoom: () => {} },
    );
    this.#budget = new RetryBudget({ now }, RETRIES);
  }

  get pauseMs(): number {
    return this.#indexer.pause.retryAfterMs;
  }

  /** Sends a call of a key that no other call has. */
  call(operation: Operation): Promise<Ended> {
    return this.callOf(operation, `key ${this.#calls++}`);
  }

  /** So many of them at once. */
  calls(operation: Operation, times: number): Promise<Ended[]> {
    return Promise.all(Array.from({ length: times }, () => this.call(operation)));
  }

  async callOf(operation: Operation, key: string): Promise<Ended> {
    this.#budget.countCall();
    const ended = await this.#once(operation, key);
    return ended === 'upstream-unreachable' && this.#budget.tryTake() ? this.#once(operation, key) : ended;
  }

  /** After how many milliseconds an operation may be called again, when it may not be now. */
  retryAfterMs(operation: Operation): number | undefined {
    const signal = new AbortController().signal;
    return this.#opened.admission.refusal({ operation, key: 'any', clients: [], signal })?.retryAfterMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.close();
  }

  get #indexer() {
    const [indexer] = this.#opened.all;
    if (indexer === undefined) throw new Error('there is no indexer');
    return indexer;
  }

  async #once(operation: Operation, key: string): Promise<Ended> {
    const { admission } = this.#opened;
    const signal = new AbortController().signal;
    const ticket = await admission.enter({ operation, key, clients: [], signal });
    if (ticket === 'abandoned') return ticket;
    if ('reason' in ticket) return ticket.reason;
    const go = await ticket.send();
    if (go !== 'go') return go === 'abandoned' ? go : go.reason;
    try {
      const query = [['seqno', this.#seqno]] as const;
      const { status, retryAfter } = await this.#indexer.client.fetch({ operation, query, headers: [] });
      ticket.end(outcomeOfStatus(status), retryAfter);
      return status;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      ticket.end(outcomeOf(error));
      return error.code;
    }
  }
}

function outcomeOfStatus(status: number): Outcome {
  if (status === 200) return 'answered';
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'server-error' : 'client-error';
}
