import type { AdmissionGate, Permit, PermitOutcome, Rejection } from '../admission/admission-gate.ts';
import type { Priority } from '../admission/wait-queue.ts';
import type { Entry } from '../cache/entry.ts';
import type { Lookup, StoreOutcome, TieredCache } from '../cache/tiered-cache.ts';
import type { Flight } from '../coalescing/single-flight.ts';
import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { Report } from './events.ts';
import type { IndexerAccess, PassageEnd } from './indexer-access.ts';
import { type JudgeOptions, judgeAnswer } from './judge-answer.ts';
import { overloaded, type Refusal } from './overloaded.ts';

/** What one flight brings home. */
export type Load =
  | { readonly from: 'memory' | 'redis'; readonly entry: Entry }
  | {
      readonly from: 'upstream';
      readonly entry: Entry;
      readonly stored: StoreOutcome;
      /** Whether a copy was at hand that was too old to be served. */
      readonly replaced: boolean;
    }
  | {
      readonly from: 'nowhere';
      readonly error: ProxyError;
      /** What may be served instead, if it is still usable then. */
      readonly fallback: Lookup;
    };

export interface EntryLoaderOptions extends JudgeOptions {
  readonly cache: TieredCache;
  readonly gate: AdmissionGate;
  readonly access: IndexerAccess;
  readonly upstream: UpstreamClient;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

/** What came of asking the indexer, and how it went. */
interface Asked {
  readonly result: Entry | ProxyError;
  readonly end: PassageEnd;
}

/** The way of a miss: Redis, a permit, the indexer, the store. Expected failures are values; a throw is a bug. */
export class EntryLoader {
  readonly #options: EntryLoaderOptions;

  constructor(options: EntryLoaderOptions) {
    this.#options = options;
  }

  /**
   * Loads the entry of a call. With `acceptStale`, a copy from Redis in its stale-while-revalidate window will do; a
   * refresh wants a fresh one.
   */
  async load(call: Call, key: string, flight: Flight, acceptStale: boolean): Promise<Load> {
    const { cache, gate, access } = this.#options;
    const operation = call.operation.name;
    const found = await cache.lookUp(key);
    if (found.state === 'fresh' || (found.state === 'stale-while-revalidate' && acceptStale)) {
      return { from: found.tier, entry: found.entry };
    }
    const failed = (error: ProxyError): Load => {
      const inMemory = cache.lookForFallback(key);
      // An entry too large for memory is known from Redis alone.
      return { from: 'nowhere', error, fallback: inMemory.state === 'miss' ? found : inMemory };
    };
    const refusal = access.refusal(operation);
    if (refusal !== undefined) return failed(this.#shed(call, refusal));
    const permit = await gate.acquire({ operation, priority: PRIORITY[found.state], signal: flight.signal });
    if (typeof permit === 'string') return failed(this.#refused(call, permit));
    let outcome: PermitOutcome = 'ignored';
    try {
      const loaded = await this.#loadWith(permit, call, key, flight, found.state !== 'miss');
      if (!(loaded instanceof ProxyError)) {
        outcome = loaded.from === 'upstream' ? 'answered' : 'ignored';
        return loaded;
      }
      outcome = permitOutcomeOf(loaded);
      return failed(loaded);
    } finally {
      permit.end(outcome);
    }
  }

  /** Asks the indexer, and once more where it could not be reached and the budget allows it. */
  async #loadWith(
    permit: Permit,
    call: Call,
    key: string,
    flight: Flight,
    replaced: boolean,
  ): Promise<Load | ProxyError> {
    const { access, cache } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const passage = await access.enter(call.operation.name, key, flight.signal);
      if (passage === 'abandoned') return this.#refused(call, passage);
      if ('reason' in passage) return this.#shed(call, passage);
      let asked: Asked | undefined;
      try {
        // The wait may have been long, and another flight may have stored the entry meanwhile.
        const again = cache.lookInMemory(key);
        if (again.state === 'fresh') return { from: again.tier, entry: again.entry };
        flight.depart();
        permit.sent();
        if (attempt === 1) access.countCall();
        asked = await this.#ask(call, key);
      } finally {
        passage.end(asked?.end ?? 'unsent');
      }
      const { result } = asked;
      if (!(result instanceof ProxyError)) return this.#store(call, result, replaced);
      if (result.code === 'upstream-rate-limited') return result.withRetryAfter(Math.ceil(access.pauseMs / 1000));
      if (result.code !== 'upstream-unreachable' || attempt === 2 || !access.mayRetry()) return result;
    }
  }

  async #ask(call: Call, key: string): Promise<Asked> {
    const { upstream, monotonic, report } = this.#options;
    const operation = call.operation.name;
    const startedAt = monotonic();
    try {
      const answer = await upstream.fetch({ operation, ...call.request });
      report({ name: 'upstream-answered', operation, status: answer.status, ms: monotonic() - startedAt });
      const result = judgeAnswer(call, key, answer, this.#options);
      if (!(result instanceof ProxyError)) return { result, end: answer.status === 200 ? 'ok' : 'ignored' };
      if (result.code === 'upstream-refused-key') report({ name: 'key-refused', status: answer.status });
      const limited = result.code === 'upstream-rate-limited';
      return { result, end: limited ? { limited: answer.retryAfter } : passageEndOf(result) };
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      report({ name: 'upstream-failed', operation, code: error.code, ms: monotonic() - startedAt, cause: error.cause });
      return { result: error, end: passageEndOf(error) };
    }
  }

  #store(call: Call, entry: Entry, replaced: boolean): Load {
    const stored = this.#options.cache.set(entry);
    const { answerClass } = entry.head;
    if (stored === 'stored') this.#options.report({ name: 'stored', operation: call.operation.name, answerClass });
    return { from: 'upstream', entry, stored, replaced };
  }

  #refused(call: Call, rejection: Rejection): ProxyError {
    return rejection === 'abandoned'
      ? new ProxyError('client-left', 'nobody waits for this answer')
      : this.#shed(call, { reason: rejection, waitMs: 0 });
  }

  #shed(call: Call, refusal: Refusal): ProxyError {
    this.#options.report({ name: 'shed', operation: call.operation.name, reason: refusal.reason });
    return overloaded(this.#options.random, refusal);
  }
}

/** A request is worth as much as its clients would miss it. */
const PRIORITY: Record<Lookup['state'], Priority> = {
  // Not asked for: what is fresh is answered before.
  fresh: 'miss',
  miss: 'miss',
  'stale-if-error': 'miss-with-fallback',
  'stale-while-revalidate': 'refresh',
};

/** A refusal is an answer: only what shows that the indexer is not well counts against it. */
function passageEndOf({ code, upstreamStatus = 0 }: ProxyError): PassageEnd {
  if (code === 'upstream-unreachable') return 'unreachable';
  if (code === 'upstream-timeout' || code === 'upstream-invalid') return 'failed';
  return code === 'upstream-error' && upstreamStatus >= 500 ? 'failed' : 'ignored';
}

function permitOutcomeOf(error: ProxyError): PermitOutcome {
  if (error.code === 'upstream-timeout') return 'timed-out';
  return passageEndOf(error) === 'failed' ? 'failed' : 'ignored';
}
