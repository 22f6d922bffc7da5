import type { Permit, PermitOutcome } from '../admission/admission-gate.ts';
import type { Entry } from '../cache/entry.ts';
import type { StoreOutcome, TieredCache } from '../cache/tiered-cache.ts';
import type { Lease } from '../coalescing/redis-lease.ts';
import type { Flight } from '../coalescing/single-flight.ts';
import { ProxyError } from '../errors.ts';
import type { Call } from '../ton/parse-call.ts';
import type { UpstreamAnswer, UpstreamClient } from '../upstream/upstream-client.ts';
import type { ChainTime } from './chain-time.ts';
import type { Report } from './events.ts';
import type { IndexerAccess, PassageEnd } from './indexer-access.ts';
import { type Judged, type JudgeOptions, judgeAnswer } from './judge-answer.ts';
import { overloaded, type Refusal } from './overloaded.ts';
import { encodeFailure } from './shared-failure.ts';

export interface EntryFetcherOptions extends Omit<JudgeOptions, 'chainAt'> {
  readonly cache: TieredCache;
  readonly chainTime: ChainTime;
  readonly access: IndexerAccess;
  readonly upstream: UpstreamClient;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

/** One entry to be fetched, by a flight that has its permit and perhaps a lease. */
export interface Fetch {
  readonly call: Call;
  readonly key: string;
  readonly flight: Flight;
  readonly permit: Permit;
  readonly lease: Lease | undefined;
  /** What the look-up before had found: too old to be served, but perhaps richer than what comes. */
  readonly known: Entry | undefined;
}

/** What came of it. */
export type Fetched =
  | { readonly from: 'memory'; readonly entry: Entry }
  | {
      readonly from: 'upstream';
      /** What is kept now, if it is richer than what the indexer answered, or was asked for later. */
      readonly entry: Entry;
      /** What the indexer answered with. */
      readonly status: number;
      readonly stored: StoreOutcome['outcome'];
    };

/** An answer that may be cached, and the chain time that it was judged by. */
interface Judgement extends Judged {
  readonly answer: UpstreamAnswer;
  readonly chainAt: number | undefined;
}

/** What came of asking the indexer, and how it went. */
interface Asked {
  readonly result: Judgement | ProxyError;
  readonly end: PassageEnd;
}

/** So often an answer is asked for that a purge took while it was under way. */
const MOST_ASKS = 3;

/** Asks the indexer and stores what it says. Expected failures are values; a throw is a bug. */
export class EntryFetcher {
  readonly #options: EntryFetcherOptions;

  constructor(options: EntryFetcherOptions) {
    this.#options = options;
  }

  /** Ends the permit and the lease, whatever comes of it. */
  async fetch(fetch: Fetch): Promise<Fetched | ProxyError> {
    const { permit, lease } = fetch;
    let outcome: PermitOutcome = 'ignored';
    try {
      const result = await this.#load(fetch);
      if (result instanceof ProxyError) {
        outcome = permitOutcomeOf(result);
        // A failure of the indexer is everybody's; what this process alone came to is nobody else's.
        if (result.wentForward) lease?.fail(encodeFailure(result));
        else lease?.release();
        return result;
      }
      if ('from' in result) {
        lease?.release();
        return result;
      }
      outcome = 'answered';
      if (!result.gainsByChainTime) return this.#store(fetch, result.entry);
      // End the permit before waiting for the head: the wait is no latency of this answer, and others need the permit.
      permit.end(outcome);
      return this.#store(fetch, await this.#judgeUpToDate(fetch, result));
    } catch (bug) {
      lease?.release();
      throw bug;
    } finally {
      permit.end(outcome);
    }
  }

  /** The indexer's answer, asked for once more where it could not be reached and the budget allows it. */
  async #load({
    call,
    key,
    flight,
    permit,
    lease,
  }: Fetch): Promise<Judgement | ProxyError | (Fetched & { from: 'memory' })> {
    const { access, cache } = this.#options;
    const signal = lease === undefined ? flight.signal : AbortSignal.timeout(lease.remainingMs);
    let unreachable = 0;
    for (let asks = 1; ; asks++) {
      const passage = await access.enter(call.operation.name, key, signal);
      if (passage === 'abandoned') return this.#abandoned(call, lease);
      if ('reason' in passage) return this.#shed(call, passage);
      let asked: Asked | undefined;
      try {
        // The wait may have been long, and another flight may have stored the entry meanwhile.
        const again = cache.lookInMemory(key);
        if (again.state === 'fresh') return { from: 'memory', entry: again.entry };
        flight.depart();
        permit.sent();
        if (asks === 1) access.countCall();
        asked = await this.#ask(call, key, lease?.remainingMs);
      } finally {
        passage.end(asked?.end ?? 'unsent');
      }
      const { result } = asked;
      if (!(result instanceof ProxyError)) {
        // Whoever came after the purge must not get what was asked for before it.
        if (asks < MOST_ASKS && cache.isPurged(result.entry)) continue;
        return result;
      }
      if (result.code === 'upstream-rate-limited') return result.withRetryAfter(Math.ceil(access.pauseMs / 1000));
      if (result.code !== 'upstream-unreachable' || ++unreachable === 2 || !access.mayRetry()) return result;
    }
  }

  async #ask(call: Call, key: string, atMostMs = Number.POSITIVE_INFINITY): Promise<Asked> {
    const { upstream, monotonic, report } = this.#options;
    const operation = call.operation.name;
    const startedAt = monotonic();
    try {
      const answer = await upstream.fetch({ operation, ...call.request }, atMostMs);
      report({ name: 'upstream-answered', operation, status: answer.status, ms: monotonic() - startedAt });
      const result = this.#judge(call, key, answer);
      if (!(result instanceof ProxyError)) return { result, end: answer.status === 200 ? 'ok' : 'ignored' };
      if (result.code === 'upstream-refused-key') report({ name: 'key-refused', status: answer.status });
      const { code } = result;
      if (code === 'upstream-invalid' || code === 'upstream-redirect')
        report({ name: 'upstream-useless', operation, code });
      const limited = result.code === 'upstream-rate-limited';
      return { result, end: limited ? { limited: answer.retryAfter } : passageEndOf(result) };
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      report({ name: 'upstream-failed', operation, code: error.code, ms: monotonic() - startedAt, cause: error.cause });
      return { result: error, end: passageEndOf(error) };
    }
  }

  #judge(call: Call, key: string, answer: UpstreamAnswer): Judgement | ProxyError {
    const { policies, random, chainTime } = this.#options;
    const chainAt = chainTime.newestAt;
    const judged = judgeAnswer(call, key, answer, { policies, random, chainAt });
    if (judged instanceof ProxyError) return judged;
    chainTime.learn(judged.showsChainAt);
    return { ...judged, answer, chainAt };
  }

  /** Judges an answer again if the head of the chain moves the chain time, which is asked for at most once in 10 s. */
  async #judgeUpToDate({ call, key }: Fetch, { entry, answer, chainAt }: Judgement): Promise<Entry> {
    const newestAt = await this.#options.chainTime.upToDate();
    if (newestAt === chainAt) return entry;
    const again = this.#judge(call, key, answer);
    return again instanceof ProxyError ? entry : again.entry;
  }

  #store({ call, lease, known }: Fetch, entry: Entry): Fetched {
    const { cache, report } = this.#options;
    const operation = call.operation.name;
    const stored = cache.set(entry, { known, after: lease?.settle() });
    const { status, answerClass } = entry.head;
    if (stored.outcome === 'stored') report({ name: 'stored', operation, answerClass });
    if (stored.outcome === 'poorer') report({ name: 'poorer', operation });
    return {
      from: 'upstream',
      entry: 'kept' in stored ? stored.kept : entry,
      status,
      stored: stored.outcome,
    };
  }

  #abandoned(call: Call, lease: Lease | undefined): ProxyError {
    return lease === undefined
      ? new ProxyError('client-left', 'nobody waits for this answer')
      : this.#shed(call, { reason: 'deadline', waitMs: 0 });
  }

  #shed(call: Call, refusal: Refusal): ProxyError {
    this.#options.report({ name: 'shed', operation: call.operation.name, reason: refusal.reason });
    return overloaded(this.#options.random, refusal);
  }
}

/** A refusal is an answer: only what shows that the indexer is not well counts against it. */
function passageEndOf({ code, upstreamStatus = 0 }: ProxyError): PassageEnd {
  if (code === 'upstream-unreachable') return 'unreachable';
  if (code === 'upstream-timeout' || code === 'upstream-invalid') return 'failed';
  return code === 'upstream-error' && upstreamStatus >= 500 ? 'failed' : 'ignored';
}

function permitOutcomeOf(error: ProxyError): PermitOutcome {
  if (error.code === 'upstream-timeout') return 'timed-out';
  if (passageEndOf(error) === 'failed') return 'failed';
  return error.upstreamStatus !== undefined || error.code === 'upstream-too-large' ? 'heard' : 'ignored';
}
