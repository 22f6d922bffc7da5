import type { Admission, Ticket } from '../../admission/admission.ts';
import type { EntryRequest } from '../../admission/guard.ts';
import type { Outcome } from '../../admission/outcome.ts';
import { ProxyError } from '../../errors.ts';
import type { Report } from '../../proxy/events.ts';
import { outcomeOf } from '../../proxy/outcome-of.ts';
import { overloaded, type Shed } from '../../proxy/overloaded.ts';
import type { ForwardedAnswer, ForwardRequest, UpstreamClient } from '../../upstream/upstream-client.ts';

export interface PassThroughDependencies {
  /** An admission of its own, so that pass-through never takes a slot from the cached operations. */
  readonly admission: Admission;
  readonly upstream: UpstreamClient;
  readonly random: () => number;
  readonly monotonic: () => number;
  readonly report: Report;
}

export interface PassThroughOptions {
  /** The most answers that may be on their way to clients at once. */
  readonly maxTransfers: number;
}

/** A request that is to be passed through. */
export interface Passing {
  /** Path and query, byte for byte. */
  readonly target: string;
  /** Whether it is sent with the client's own API key instead of ours. */
  readonly withClientKey: boolean;
  readonly signal: AbortSignal;
}

/** An answer under way; `end` is to be called once its body has ended. */
export interface OpenedAnswer extends ForwardedAnswer {
  readonly end: () => void;
}

const OPERATION = 'passThrough';

/**
 * Sends requests that are not cached to the indexer. Its methods throw a {@link ProxyError}; a request is never sent
 * twice. Once the head of an answer has arrived, the indexer's query is over and the slot is free. The body counts as a
 * transfer from then on, because its client decides how long it takes.
 */
export class PassThrough {
  readonly #dependencies: PassThroughDependencies;
  readonly #options: PassThroughOptions;
  #transfers = 0;

  constructor(dependencies: PassThroughDependencies, options: PassThroughOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Answers on their way to clients now. */
  get transfers(): number {
    return this.#transfers;
  }

  /** Throws when the request would be refused now. To be called before the client's body is read. */
  refuse(passing: Passing): void {
    const { admission } = this.#dependencies;
    const { maxTransfers } = this.#options;
    if (this.#transfers >= maxTransfers) throw this.shed({ reason: 'queue-full', retryAfterMs: 0 });
    const refusal = admission.refusal(requestOf(passing));
    if (refusal !== undefined) throw this.shed(refusal);
  }

  /** Sends a request when it is its turn, and returns once the head of its answer is there. */
  async open(passing: Passing, forward: ForwardRequest): Promise<OpenedAnswer> {
    const ticket = await this.#dependencies.admission.enter(requestOf(passing));
    if (ticket === 'abandoned') throw passing.signal.reason;
    if ('reason' in ticket) throw this.shed(ticket);
    return this.#send(forward, ticket);
  }

  async #send(request: ForwardRequest, ticket: Ticket): Promise<OpenedAnswer> {
    const { upstream, monotonic, report } = this.#dependencies;
    const go = await ticket.send();
    if (go === 'abandoned') throw request.signal.reason;
    if (go !== 'go') throw this.shed(go);
    const startedAt = monotonic();
    let outcome: Outcome = 'abandoned';
    let retryAfter: string | undefined;
    try {
      const answer = await upstream.forward(request);
      const { status, headers } = answer;
      report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
      retryAfter = [headers['retry-after']].flat()[0];
      outcome = outcomeOfStatus(status);
      return this.#transfer(answer);
    } catch (error) {
      // A client that leaves says nothing about the indexer, which is still working on its request.
      if (error instanceof ProxyError && !request.signal.aborted) {
        outcome = outcomeOf(error);
        const { code, cause } = error;
        report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
      }
      throw error;
    } finally {
      ticket.end(outcome, retryAfter);
    }
  }

  #transfer(answer: ForwardedAnswer): OpenedAnswer {
    this.#transfers++;
    let ended = false;
    return {
      ...answer,
      end: () => {
        if (!ended) this.#transfers--;
        ended = true;
      },
    };
  }

  /** The failure of a request that is not sent; counted. */
  shed(shed: Shed): ProxyError {
    this.#dependencies.report({ name: 'shed', operation: OPERATION, reason: shed.reason });
    return overloaded(this.#dependencies.random, shed);
  }
}

function requestOf({ target, withClientKey, signal }: Passing): EntryRequest {
  return { operation: OPERATION, key: target, priority: 'miss', signal, withClientKey };
}

function outcomeOfStatus(status: number): Outcome {
  if (status === 429) return 'rate-limited';
  if (status >= 500) return 'server-error';
  return status >= 400 ? 'client-error' : 'answered';
}
