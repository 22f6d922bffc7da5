import type { AdmissionGate } from '../admission/admission-gate.ts';
import type { Entry } from '../cache/entry.ts';
import type { Lookup, StoreOutcome, TieredCache } from '../cache/tiered-cache.ts';
import type { Flight } from '../coalescing/single-flight.ts';
import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer, UpstreamClient } from '../upstream/upstream-client.ts';
import type { UpstreamPause } from '../upstream/upstream-pause.ts';
import type { Report, ShedReason } from './events.ts';
import { type JudgeOptions, judgeAnswer } from './judge-answer.ts';

/** What one flight brings home. */
export type Load =
  | { readonly from: 'memory' | 'redis'; readonly entry: Entry }
  | { readonly from: 'upstream'; readonly entry: Entry; readonly stored: StoreOutcome }
  | {
      readonly from: 'nowhere';
      readonly error: ProxyError;
      /** What may be served instead, if it is still usable then. */
      readonly fallback: Lookup;
    };

export interface LoadEntryOptions extends JudgeOptions {
  readonly cache: TieredCache;
  readonly gate: AdmissionGate;
  readonly pause: UpstreamPause;
  readonly upstream: UpstreamClient;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

/**
 * The way of a miss: Redis, a permit, the indexer, the store. Expected failures are values; a throw is a bug.
 */
export class EntryLoader {
  readonly #options: LoadEntryOptions;

  constructor(options: LoadEntryOptions) {
    this.#options = options;
  }

  /**
   * Loads the entry of a call. With `acceptStale`, a copy from Redis in its stale-while-revalidate window will do; a
   * refresh wants a fresh one.
   */
  async load(call: Call, key: string, flight: Flight, acceptStale: boolean): Promise<Load> {
    const { cache, gate, pause } = this.#options;
    const found = await cache.lookUp(key);
    if (found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale)) {
      return { from: found.tier, entry: found.entry };
    }
    const failed = (error: ProxyError): Load => {
      const inMemory = cache.lookForFallback(key);
      // An entry too large for memory is known from Redis alone.
      return { from: 'nowhere', error, fallback: inMemory.state === 'miss' ? found : inMemory };
    };
    if (pause.remainingMs > 0) return failed(this.#shed(call, 'paused', pause.remainingMs));
    const permit = await gate.acquire(flight.signal);
    if (permit === 'abandoned') return failed(new ProxyError('client-left', 'nobody waits for this answer'));
    if (permit === 'queue-full') return failed(this.#shed(call, 'queue-full'));
    try {
      // The wait for the permit may have been long: the pause may have begun, another flight may have stored the entry.
      if (pause.remainingMs > 0) return failed(this.#shed(call, 'paused', pause.remainingMs));
      const again = cache.lookInMemory(key);
      if (again.state === 'fresh') return { from: again.tier, entry: again.entry };
      flight.depart();
      const judged = await this.#ask(call, key);
      return judged instanceof ProxyError ? failed(judged) : this.#store(call, judged);
    } finally {
      permit.release();
    }
  }

  #store(call: Call, entry: Entry): Load {
    const stored = this.#options.cache.set(entry);
    const { answerClass } = entry.head;
    if (stored === 'stored') this.#options.report({ name: 'stored', operation: call.operation.name, answerClass });
    return { from: 'upstream', entry, stored };
  }

  /** A rejection that a client may try again after 1 to 3 seconds, spread so that they do not all come back at once. */
  #shed(call: Call, reason: ShedReason, waitMs = 0): ProxyError {
    this.#options.report({ name: 'shed', operation: call.operation.name, reason });
    return overloaded(this.#options.random, waitMs);
  }

  async #ask(call: Call, key: string): Promise<Entry | ProxyError> {
    const { upstream, monotonic, report } = this.#options;
    const operation = call.operation.name;
    const startedAt = monotonic();
    try {
      const answer = await upstream.fetch({ operation, ...call.request });
      report({ name: 'upstream-answered', operation, status: answer.status, ms: monotonic() - startedAt });
      return this.#judge(call, key, answer);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      report({ name: 'upstream-failed', operation, code: error.code, ms: monotonic() - startedAt, cause: error.cause });
      return error;
    }
  }

  #judge(call: Call, key: string, answer: UpstreamAnswer): Entry | ProxyError {
    const { pause, report } = this.#options;
    const judged = judgeAnswer(call, key, answer, this.#options);
    if (!(judged instanceof ProxyError)) return judged;
    if (judged.code === 'upstream-refused-key') report({ name: 'key-refused', status: answer.status });
    if (judged.code !== 'upstream-rate-limited') return judged;
    pause.begin(answer.retryAfter);
    return new ProxyError(judged.code, judged.message, {
      upstreamStatus: answer.status,
      apiVersion: judged.apiVersion,
      retryAfterSeconds: Math.ceil(pause.remainingMs / 1000),
    });
  }
}

/** The failure of a request that was shed: `Retry-After` 1 to 3 seconds at random, or the known wait. */
export function overloaded(random: () => number, waitMs = 0): ProxyError {
  const retryAfterSeconds = waitMs > 0 ? Math.ceil(waitMs / 1000) : 1 + Math.floor(random() * 3);
  return new ProxyError('overloaded', 'too many requests for the indexer are waiting', { retryAfterSeconds });
}
