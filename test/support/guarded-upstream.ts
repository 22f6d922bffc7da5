import { ProxyError } from '../../src/errors.ts';
import type { Indexer } from '../../src/simulator/indexer.ts';
import { type BreakerTransition, type CallOutcome, OperationBreaker } from '../../src/upstream/operation-breaker.ts';
import { RateLimit } from '../../src/upstream/rate-limit.ts';
import { RetryBudget } from '../../src/upstream/retry-budget.ts';
import { type UpstreamAnswer, UpstreamClient } from '../../src/upstream/upstream-client.ts';
import { UpstreamPause } from '../../src/upstream/upstream-pause.ts';

export type Operation = 'pendingTraces' | 'adjacentTransactions' | 'masterchainBlockShards';

/** How a call ended: a status, a failure's code, or why it was not sent. */
export type Ended = number | ProxyError['code'] | 'paused' | 'open';

/** Everything that stands between a miss and the indexer but the permit, on a clock that a test turns. */
export class GuardedUpstream implements AsyncDisposable {
  /** What the clock shows, in milliseconds. */
  nowMs = 1_700_000_000_000;
  readonly transitions: BreakerTransition<Operation>[] = [];
  readonly pause: UpstreamPause;
  readonly breaker: OperationBreaker<Operation>;
  readonly #budget: RetryBudget;
  readonly #rateLimit: RateLimit;
  readonly #client: UpstreamClient;
  /** Of a round that exists. */
  readonly #seqno: string;
  #calls = 0;

  constructor(indexer: Indexer, { timeoutMs = 5000 } = {}) {
    this.#seqno = `${indexer.chain.headSeqno}`;
    const now = () => this.nowMs;
    this.pause = new UpstreamPause({ defaultMs: 1000, longestMs: 60_000, now, onTransition: () => {} });
    this.breaker = new OperationBreaker<Operation>({
      operations: ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'],
      failureShare: 0.5,
      leastKeys: 20,
      windowMs: 10_000,
      restMs: 2000,
      longestRestMs: 30_000,
      now,
      random: () => 0,
      onTransition: (transition) => this.transitions.push(transition),
    });
    this.#budget = new RetryBudget({ now });
    this.#rateLimit = new RateLimit({ perSecond: 1000, shared: undefined, now: () => performance.now() });
    this.#client = new UpstreamClient({
      baseUrl: new URL(indexer.url),
      apiKey: undefined,
      timeoutMs,
      maxConnections: 64,
      maxBodyBytes: 1024 * 1024,
      keepAliveMs: 4000,
      connectionLifetimeMs: 300_000,
      now: Date.now,
    });
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  async #once(operation: Operation, key: string): Promise<Ended> {
    if (this.pause.isPaused) return 'paused';
    if (this.breaker.isOpen(operation)) return 'open';
    await this.#rateLimit.take(new AbortController().signal);
    const pausePass = this.pause.admit();
    if (pausePass === 'paused') return 'paused';
    const breakerPass = this.breaker.admit(operation, key);
    if (breakerPass === 'open') {
      pausePass.unanswered();
      return 'open';
    }
    const result = await this.#send(operation);
    if (result instanceof ProxyError) pausePass.unanswered();
    else if (result.status === 429) pausePass.limited(result.retryAfter);
    else pausePass.answered();
    breakerPass.end(outcomeOf(result));
    return result instanceof ProxyError ? result.code : result.status;
  }

  async #send(operation: Operation): Promise<UpstreamAnswer | ProxyError> {
    try {
      return await this.#client.fetch({ operation, query: [['seqno', this.#seqno]], headers: [] });
    } catch (error) {
      if (error instanceof ProxyError) return error;
      throw error;
    }
  }
}

function outcomeOf(result: UpstreamAnswer | ProxyError): CallOutcome {
  if (result instanceof ProxyError) return result.code === 'upstream-unreachable' ? 'unreachable' : 'failed';
  if (result.status === 200) return 'ok';
  return result.status >= 500 ? 'failed' : 'ignored';
}
