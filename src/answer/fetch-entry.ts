import type { Admission, Entered, Ticket } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Entry } from '../cache/entry.ts';
import type { StoreOutcome, TieredCache } from '../cache/tiered-cache.ts';
import { ProxyError } from '../errors.ts';
import type { RetryBudget } from '../indexer/retry-budget.ts';
import type { UpstreamClient } from '../indexer/upstream-client.ts';
import type { Lease } from '../once/lease.ts';
import type { Flight } from '../once/single-flight.ts';
import type { EventEffects } from '../push/apply-events.ts';
import type { Call } from '../ton/parse-call.ts';
import type { AnswerBodyReader, ReadAnswer } from './answer-body-reader.ts';
import type { AnswerClassifier } from './answer-classifier.ts';
import type { Report } from './events.ts';
import { outcomeOf } from './outcome-of.ts';
import { overloaded, type Shed } from './overloaded.ts';
import { encodeFailure } from './shared-failure.ts';

export interface EntryFetcherDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  readonly cache: TieredCache;
  readonly admission: Admission;
  readonly bodies: AnswerBodyReader;
  readonly classifier: AnswerClassifier;
  readonly retries: RetryBudget;
  /** Absent where `stream.url` is not set. */
  readonly pushed: EventEffects | undefined;
  /** Milliseconds until the pause ends that the indexer asked for; 0 when there is none. */
  readonly pauseMs: () => number;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

/** One entry to be fetched, by a flight that has its ticket and perhaps a lease. */
export interface Fetch {
  readonly call: Call;
  readonly request: EntryRequest;
  readonly flight: Flight;
  /** That of the client's request that began the flight; sent on to the indexer. */
  readonly traceparent: string | undefined;
  readonly ticket: Ticket;
  readonly lease: Lease | undefined;
  /** What the look-up found: too old to be served, but perhaps more complete than the indexer's answer. */
  readonly known: Entry | undefined;
}

/** The result of a fetch. */
export interface Fetched {
  readonly from: 'upstream';
  /** The entry to serve: the indexer's answer, or the kept entry where that is more complete or was asked for later. */
  readonly entry: Entry;
  /** The status that the indexer answered with. */
  readonly status: number;
  readonly stored: StoreOutcome['outcome'];
}

/** An answer that may be cached, whose ticket has not ended. */
interface Obtained {
  readonly entry: Entry;
  readonly answer: ReadAnswer;
  /** Ends the ticket; further calls do nothing. */
  readonly endTicket: () => void;
}

/** Asks the indexer and stores its answer. Expected failures are values; a throw is a bug. */
export class EntryFetcher {
  readonly #dependencies: EntryFetcherDependencies;

  constructor(dependencies: EntryFetcherDependencies) {
    this.#dependencies = dependencies;
  }

  /** Ends the ticket and the lease in any case. */
  async fetch(fetch: Fetch): Promise<Fetched | ProxyError> {
    const { lease } = fetch;
    try {
      const result = await this.#load(fetch);
      if (result instanceof ProxyError) {
        // Share indexer failures with waiting instances. Local refusals (overload, shutdown) only release the lease.
        if (result.wentForward) lease?.fail(encodeFailure(result));
        else lease?.release();
        return result;
      }
      return this.#keep(fetch, result);
    } catch (bug) {
      lease?.release();
      throw bug;
    }
  }

  /**
   * The indexer's answer. Asks once more, with the whole timeout, if the indexer could not be reached and the retry budget
   * allows it. Ends every ticket but that of an answer.
   */
  async #load(fetch: Fetch): Promise<Obtained | ProxyError> {
    const { admission, retries, pauseMs } = this.#dependencies;
    const { call, request } = fetch;
    let ticket: Ticket | ProxyError = fetch.ticket;
    try {
      for (let isFirst = true; ; isFirst = false) {
        if (ticket instanceof ProxyError) return ticket;
        const result = await this.#ask(fetch, ticket, isFirst);
        if (!(result instanceof ProxyError)) return result;
        if (result.code === 'upstream-rate-limited') return result.withRetryAfter(Math.ceil(pauseMs() / 1000));
        if (result.code !== 'upstream-unreachable' || !isFirst || !retries.tryTake()) return result;
        ticket = this.#ticket(call, request, await admission.enter(request));
      }
    } catch (bug) {
      if (!(ticket instanceof ProxyError)) ticket.end('abandoned');
      throw bug;
    }
  }

  #ticket(call: Call, request: EntryRequest, entered: Entered): Ticket | ProxyError {
    if (entered === 'abandoned') return new ProxyError('client-left', 'nobody waits for this answer');
    return 'reason' in entered ? this.#shed(call, request, entered) : entered;
  }

  /** One request to the indexer; ends the ticket if there is no answer that may be cached. */
  async #ask(
    { call, request, flight, traceparent }: Fetch,
    ticket: Ticket,
    isFirst: boolean,
  ): Promise<Obtained | ProxyError> {
    const { upstream, bodies, classifier, retries, monotonic, report } = this.#dependencies;
    const operation = call.operation.name;
    const go = await ticket.send();
    if (go === 'abandoned') return new ProxyError('client-left', 'nobody waits for this answer');
    if (go !== 'go') return this.#shed(call, request, go);
    flight.depart();
    if (isFirst) retries.countCall();
    const startedAt = monotonic();
    try {
      const { query, headers } = call.request;
      const answer = await upstream.fetch({ operation, query, headers, traceparent });
      report({ name: 'upstream-answered', operation, status: answer.status, ms: monotonic() - startedAt });
      const read = await bodies.read(call, answer);
      const entry = classifier.classify(call, request.key, read);
      if (entry instanceof ProxyError) {
        ticket.end(outcomeOf(entry), answer.retryAfter);
        return entry;
      }
      const outcome = answer.status === 200 ? 'answered' : 'client-error';
      return { entry, answer: read, endTicket: () => ticket.end(outcome) };
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      const { code, cause } = error;
      report({ name: 'upstream-failed', operation, code, ms: monotonic() - startedAt, cause });
      ticket.end(outcomeOf(error));
      return error;
    }
  }

  /** Stores the answer before its slot goes to the next request, which looks into memory then. */
  #keep(fetch: Fetch, obtained: Obtained): Fetched {
    try {
      return this.#store(fetch, obtained);
    } finally {
      obtained.endTicket();
    }
  }

  #store({ call, lease, known }: Fetch, { entry, answer }: Obtained): Fetched {
    const { cache, pushed, report } = this.#dependencies;
    const operation = call.operation.name;
    const inMemory = pushed?.answered(entry, answer.facts.watchable);
    const onShared = (isShared: boolean) => (isShared ? lease?.settle() : lease?.release());
    const stored = cache.set(entry, { known, token: lease?.token, onShared, inMemory });
    const { status, answerClass } = entry.head;
    if (stored.outcome === 'stored') report({ name: 'stored', operation, answerClass });
    if (stored.outcome === 'regressed') report({ name: 'regressed', operation });
    return {
      from: 'upstream',
      entry: 'kept' in stored ? stored.kept : entry,
      status,
      stored: stored.outcome,
    };
  }

  #shed(call: Call, { isRefresh }: EntryRequest, shed: Shed): ProxyError {
    const operation = call.operation.name;
    if (isRefresh !== true) this.#dependencies.report({ name: 'shed', operation, reason: shed.reason });
    return overloaded(this.#dependencies.random, shed);
  }
}
